"""Known bugs of a broker that follows metadata: one file, one replaced rule each."""
