"""Known bugs of a replica that is cleaned: one file, one replaced rule each."""
