"""Transactions over lists and registers: which isolation level does a history satisfy?

Reading order: levels.py (consistency models, and which anomaly rules out which), transactions.py
(what a history's transactions are), lists.py and registers.py (anomalies of single reads, and the
dependencies between transactions), dependencies.py (the graph), cycles.py (its cycles, by kind),
ordering.py (a serial order of transactions over registers), judging.py (the verdict).

Sources: Adya, "Weak Consistency" (1999); Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies
from Experimental Observations" (VLDB 2020); Cerone and Gotsman, "Analysing Snapshot Isolation"
(J. ACM 2018). Names of anomalies and models are those of Elle.
"""
