"""What is checked of a release together with an earlier one."""
