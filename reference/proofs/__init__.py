"""Proofs beyond bounds: the handlers run on symbols, and Z3 judges what they make.

Reading order: symbolic.py (values that fork), obligations.py (what a proof consists of).
What is proved of a protocol lies with it.
"""
