"""A cluster that is told every move (reference/steered)."""
