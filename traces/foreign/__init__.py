"""Step traces that another implementation wrote, held to the specification.

Reading order: forms.py (what a line may hold), reading.py (from a file to values), steps.py (what
is asked of every trace), batch.py (full rows), chain.py (partial rows), verdicts.py (the result).
docs/foreign-traces.md is for who writes such traces.
"""
