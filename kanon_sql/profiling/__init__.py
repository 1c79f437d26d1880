"""What columns tell of people before anything is demanded; it judges nothing."""
