"""Known bugs of the quorum by the rules since 4.1: reference/bugs says what a bug is."""
