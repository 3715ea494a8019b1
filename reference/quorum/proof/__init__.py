"""What is proved of the quorum for any bounds (reference/proofs has the engine).

Reading order: relation.py (the handlers' paths), election.py (an invariant and its obligations);
branches.py, completeness.py, completeness_proof.py. Tests hold the relations against steps of
the model.
"""
