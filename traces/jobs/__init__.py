"""Campaigns: simulate in parts, find the distinct steps, have TLC judge them, join verdicts back.

Reading order: abstraction.py (recorded values as the spec's values), canonical.py (which steps are
the same step), columns.py (a part as flat arrays), checks.py (what is checked on whole runs),
conform.py (the judgement, with judge.py, verdict_store.py and joined.py). simulate.py makes the
parts; allowed.py asks about steps of whatever runs, many at once; backends.py does the work on them
in a pool of processes or on Spark (session.py, shipping.py).

Of campaigns, which put every question to every run: ranges.py (the work on a range of runs),
campaigns.py (all of it, resumable), findings.py (what it comes to). The questions: histories.py and
promised.py, measures.py, coverage.py, rules_met.py, cluster_checks.py; frames.py has them as
functions from a frame to a frame.
"""
