"""Known bugs of reassignments: one file, one replaced rule each."""
