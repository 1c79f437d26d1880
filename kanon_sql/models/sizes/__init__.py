"""What is checked of the sizes of classes."""
