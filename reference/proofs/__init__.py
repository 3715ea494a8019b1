"""Proofs beyond bounds: the handlers run on symbols, and Z3 judges what they make.

Reading order: symbolic.py (values that fork), relation.py (the handlers' paths), obligations.py
(what a proof consists of), election.py (the invariant and its obligations), local_steps.py,
quorum_drift.py and partition_drift.py (the relations against steps of the model).
"""
