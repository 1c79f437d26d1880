"""Local recoding: each equivalence class is generalised only as far as its checks need."""
