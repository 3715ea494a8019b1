"""The command line: verbs, what they print, and what they exit with. Everything else is below."""
