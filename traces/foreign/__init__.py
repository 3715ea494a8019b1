"""Step traces that another implementation wrote, held to the specification.

Reading order: forms.py (what a line may hold), reading.py (from a file to values), provenance.py
(where messages come from), batch.py (full rows), hidden.py, domains.py and chain.py (partial rows),
verdicts.py (the result).
docs/foreign-traces.md is for who writes such traces.
"""
