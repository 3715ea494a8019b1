"""What the README claims about speed, as scripts that measure it: `python -m benchmarks`."""
