"""A partition that is told every move (reference/steered)."""
