"""The partition's composition for `cover`, and messages that nobody sends."""
