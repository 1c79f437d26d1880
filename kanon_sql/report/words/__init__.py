"""Words for figures, models and tables; no layout."""
