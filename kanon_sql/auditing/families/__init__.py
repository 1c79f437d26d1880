"""What each family of models reads off the rows of an audit."""
