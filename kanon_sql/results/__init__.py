"""What was found, as plain values that are stored and compared; nothing is printed here."""
