"""The search for generalisation levels in the lattice."""
