"""What is checked of a release beside a reference of the population."""
