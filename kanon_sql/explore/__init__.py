"""The local page on which a person explores a table."""
