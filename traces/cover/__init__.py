"""From the model to the code: TLC's state graphs, driven through the reference edge by edge.

Reading order: rulebook.py (what may happen in a graph); models.py (which graphs there are);
matching.py, driving.py, refusals.py (the three questions); charts.py,
sieve.py and campaigns.py (what recorded runs have seen); pictures.py and life_cycles.py.
"""
