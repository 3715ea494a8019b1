"""From the model to the code: TLC's state graphs, driven through the reference edge by edge.

Reading order: models.py (which graphs there are), composition.py (what a protocol must say of
itself) with quorum.py and partition.py; matching.py, driving.py, refusals.py with mutation.py and
partition_mutation.py (the three questions); charts.py, sieve.py and campaigns.py (what recorded
runs have seen); pictures.py and drawings.py.
"""
