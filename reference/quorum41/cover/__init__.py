"""The composition of the quorum since 4.1, for `cover`."""
