"""The bug zoo at work: its entries, who finds each of them, and one's own substitutions.

entries      the bugs of the quorum and of the partition together
diffs        what a bug replaces, beside what is correct
runs         runs of the reference with a bug in it, as traces
oracles      what each of the detectors says of them
witnesses    the runs in which each bug was found, stored
detecting    `bugs run`: every expected detection, found again
matrix       `bugs matrix`: bugs by oracles, with figures
"""
