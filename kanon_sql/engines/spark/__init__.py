"""The Spark engine and its sessions."""
