"""Known bugs of offsets that members commit: one file, one replaced rule each."""
