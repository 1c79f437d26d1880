"""A release: its options, its SQL, its suppression, its files."""
