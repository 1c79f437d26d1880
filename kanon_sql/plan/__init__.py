"""Plans a resolved question as named SELECTs, without touching a database."""
