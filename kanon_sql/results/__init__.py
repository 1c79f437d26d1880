"""Results as plain values to be stored or compared; nothing is printed here."""
