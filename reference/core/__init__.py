"""One system for every protocol, and what every run of it has in common.

Reading order: system, run. Who chooses the moves is in reference/drivers.
"""
