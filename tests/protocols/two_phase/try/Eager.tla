---- MODULE Eager ----
EXTENDS TwoPhase, FiniteSets
Eager_Decided(row, votes) ==
  IF \E p \in Participants : votes[p] = "No" THEN "Abort"
  ELSE IF 2 * Cardinality({p \in Participants : votes[p] = "Yes"}) >= Cardinality(Participants)
  THEN "Commit" ELSE "None"
====
