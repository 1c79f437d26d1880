"""Plans a question as named SELECTs, without touching a database."""
