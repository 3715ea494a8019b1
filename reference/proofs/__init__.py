"""Proofs beyond bounds: the handlers run on symbols, and Z3 judges what they make.

Reading order: symbolic.py (values that fork), relation.py (the handlers' paths), obligations.py
(what a proof consists of), election.py (the invariant and its obligations), bounded.py and
moves.py (reachable counterexamples of bugs), local_steps.py (what a relation is compared with).
"""
