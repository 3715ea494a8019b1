"""`check`: a history against what was promised to its clients, log by log and object by object."""
