"""SQL rendered, gated, transpiled; it knows no privacy model, no database."""
