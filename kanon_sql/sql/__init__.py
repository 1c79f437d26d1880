"""How SQL is made and kept honest; it knows no privacy model and no database."""
