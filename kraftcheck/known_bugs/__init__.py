"""The known bugs at work: their entries, who finds each of them, and one's own substitutions.

entries        the bugs that are meant, and the scenario of each
diffs          what a bug replaces, beside what is correct
runs           runs of the reference with a bug in it, as traces
oracles        what each of the detectors says of them
schedules      moves that lead to where seeds hardly come
witnesses      the runs in which each bug was found, stored
detecting      `bugs run`: every expected detection, found again
hunting        the first run in which an oracle finds a bug
campaigns      how many runs that takes, measured
figures        what the measurements say: medians and intervals
matrix         `bugs matrix`: bugs by oracles, with figures
own_rules      a substitution of one's own in Python, refused or loaded
own_overlay    the same in TLA+
own_runs       runs and schedules with it, held against the correct protocol
related        the known bugs of the rules that it replaces
trying         `try`: every detector asked of it
"""
