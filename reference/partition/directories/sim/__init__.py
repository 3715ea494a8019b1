"""What a run of a cluster needs where directories fail: steps that were taken before, and when."""
