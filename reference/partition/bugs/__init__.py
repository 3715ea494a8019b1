"""Known bugs of a partition: reference/bugs says what a bug is."""
