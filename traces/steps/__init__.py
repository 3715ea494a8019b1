"""The walk of a recorded step from disk to TLC's verdict: a stage a module, in this order.

    record        record.py       a part of a trace, read: runs as columns, what is distinct decoded
    check         check.py        whole runs: do their steps make behaviours? (cluster.py: and do
                                  the components of a cluster?)
    canonicalise  classes.py      the distinct steps of a part, in the form in which they are judged
                                  and merged over parts: sliced and cut (slicing.py), then renamed
                                  (symmetry.py)
    judge         judge.py        TLC's verdict on each class, in the spec's terms (translation.py);
                                  it outlives the campaign (verdict_store.py)
    explain       explain.py      of what was not accepted: why, and every run that took it

`traces/jobs` drives these stages for whole campaigns.
"""
