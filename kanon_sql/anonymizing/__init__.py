"""From an audit to a release that holds; it never writes to what it reads."""
