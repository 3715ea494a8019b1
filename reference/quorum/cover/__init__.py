"""The quorum's composition for `cover`, and messages that nobody sends."""
