"""What is checked of the cells of a published table."""
