"""A quorum that is told every move (reference/steered)."""
