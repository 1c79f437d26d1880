"""The search for generalisation levels: the lattice, node evaluation and the search algorithms."""
