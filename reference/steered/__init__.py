"""Runs whose every move is told from outside: drawn by Hypothesis, or read from a file.

Reading order: failures, moves, mail, scripts. What a protocol's run is stands with it (for the
quorum in reference/quorum/steered); reference/runner/scripted.py replays one that was written down.

The simulator decides on what comes next by choices of its own; here nobody decides. A steered run
says which moves there are now, makes the one that it is told, and checks the named invariants after
each. At the end it heals everything and demands progress.
"""
