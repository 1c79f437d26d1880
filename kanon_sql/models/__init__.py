"""The privacy models, a room for each family."""
