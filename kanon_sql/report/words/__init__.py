"""The wording of results, without layout."""
