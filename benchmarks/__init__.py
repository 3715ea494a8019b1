"""What the kit claims about speed, as scripts that measure it: `python -m benchmarks`."""
