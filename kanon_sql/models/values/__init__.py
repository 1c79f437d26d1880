"""What is checked of the sensitive values of classes."""
