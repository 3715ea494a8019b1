"""Known bugs of snapshots of the metadata log: one file, one replaced rule each."""
