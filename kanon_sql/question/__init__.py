"""What an audit is asked to do: tables, columns, hierarchies and models; no SQL, no database."""
