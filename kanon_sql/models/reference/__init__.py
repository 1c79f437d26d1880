"""What is checked of a release against a reference of the population."""
