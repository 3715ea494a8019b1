"""Proofs beyond bounds: the handlers run on symbols, and Z3 judges what they make.

Reading order: symbolic.py (values that fork), relation.py (the handlers' paths), election.py (the
invariant and its obligations), bounded.py (reachable counterexamples of bugs).
"""
