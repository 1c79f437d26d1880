"""What is estimated about the population that a table was sampled from."""
