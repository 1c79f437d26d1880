"""The plan of a resolved question: named SELECTs, written without touching a database."""
