"""The sign-off report: fourteen sections, each included if the result has content for it."""
