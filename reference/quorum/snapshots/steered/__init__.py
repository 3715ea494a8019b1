"""Controllers whose voters change, told every move (reference/steered)."""
