"""The Spark engine with its sessions."""
