"""Known bugs of changes of the voters: one file, one replaced rule each."""
