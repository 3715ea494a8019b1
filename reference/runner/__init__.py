"""Runs of every protocol: run is what others call; scenarios lists what may be run."""
