"""Campaigns: simulate in parts, find the distinct steps, have TLC judge them, join verdicts back.

Reading order: abstraction.py (recorded values as the spec's values), canonical.py (which steps are
the same step), columns.py (a part as flat arrays), checks.py (what is checked on whole runs),
conform.py (the judgement). simulate.py makes the parts; session.py starts Spark.

Of campaigns, which put every question to every run: ranges.py (the work on a range of runs),
campaigns.py (all of it, resumable), findings.py (what it comes to).
"""
