"""What is asked of the operating system, in one way for all: files that are read, and children.

Reading order: files.py (regular files only, and bounded), children.py (a process ends when the one
that started it has). Knows nothing of what is above it, and imports the standard library alone, so
that it costs nothing to load.
"""
