"""Runs whose every move is told from outside: drawn by Hypothesis, or read from a file.

Reading order: failures, moves; quorum, partition; cluster_voters, cluster_brokers, cluster;
scripts, replaying.

The simulator decides on what comes next by choices of its own; here nobody decides. A steered run
says which moves there are now, makes the one that it is told, and checks the named invariants after
each. At the end it heals everything and demands progress.
"""
