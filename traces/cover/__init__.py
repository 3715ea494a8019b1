"""From the model to the code: TLC's state graphs, driven through the reference edge by edge.

Reading order: reference/kit/cover.py (what a protocol must say of itself); models.py (which graphs
there are) and plain.py; matching.py, driving.py, refusals.py (the three questions); charts.py,
sieve.py and campaigns.py (what recorded runs have seen); pictures.py and life_cycles.py.
"""
