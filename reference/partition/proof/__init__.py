"""What is proved of a partition for any bounds (reference/proofs has the engine).

Reading order: symbols.py, relation.py (the handlers' paths), system.py (all rows, and what is
remembered), electable.py (the invariant), actions.py, proof.py (the obligations). Tests hold the
relation against steps of the model.
"""
