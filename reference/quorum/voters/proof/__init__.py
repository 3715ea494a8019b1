"""What is proved of elections where the voters change (reference/proofs has the engine).

Reading order: sets.py (which set is in force where in the tree of epochs), proof.py (what
sets may break), any_set.py (every handler, whatever the set).
"""
