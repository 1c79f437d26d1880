"""The command line: words and files in, pages and exit codes out; it computes nothing itself."""

from kanon_sql.cli.main import main as main
