"""Campaigns: runs simulated in parts, judged stage by stage (traces/steps), and summed up.

Reading order: simulate.py makes the parts; ranges.py is the work on a range of runs, campaigns.py
all of it, resumable, with findings.py (what it comes to); conform.py is the judgement of a trace
that is recorded already, with summary.py. backends.py does the work in a pool of processes or on
Spark (session.py); allowed.py asks about steps of whatever runs, many at once.

The questions that are put to every run: histories.py and promised.py, measures.py, coverage.py,
novelty.py; frames.py has them as functions from a frame to a frame.
"""
