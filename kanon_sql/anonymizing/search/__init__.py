"""The search for levels: the lattice, what its nodes hold, and the algorithms that choose one."""
