"""Known bugs of the quorum: reference/bugs says what a bug is."""
