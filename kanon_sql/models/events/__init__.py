"""What is checked of the events of people."""
