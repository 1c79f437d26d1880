"""The command line: parses arguments, calls the API, prints pages; it computes nothing itself."""

from kanon_sql.cli.main import main as main
