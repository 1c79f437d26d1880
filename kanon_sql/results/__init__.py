"""Results as plain values to be stored and compared; nothing is printed here."""
