"""The sign-off report: thirteen sections, each included if the result has content for it."""
