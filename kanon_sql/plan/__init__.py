"""A question as named SELECTs; it never sees a database."""
