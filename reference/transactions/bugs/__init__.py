"""Known bugs of transactions: one file, one replaced rule each."""
