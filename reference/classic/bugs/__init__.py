"""Known bugs of consumer groups: one file, one replaced rule each."""
