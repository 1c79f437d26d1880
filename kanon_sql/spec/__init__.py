"""What is asked, in words: tables, columns, hierarchies and models; no SQL, no database."""
