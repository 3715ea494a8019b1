"""What is asked of the operating system, in one way for all: files that are read, children, Java.

Reading order: files.py (regular files only, and bounded), children.py (a process ends when the one
that started it has), java.py (which one is started). Knows nothing of what is above it, and imports
the standard library alone, so that it costs nothing to load.
"""
