------------------------------ MODULE VoterSet ------------------------------
(* Who votes (Q1: the static voter set of kraft.version 0), and what a      *)
(* majority is.  Not a decision that a bug may replace: properties use it.  *)
EXTENDS Integers, FiniteSets

CONSTANT Voters

Nobody == -1           \* no leader known, no vote given: Kafka's sentinel

IsMajority(nodes) == 2 * Cardinality(nodes) > Cardinality(Voters)
Others(n) == Voters \ {n}
=============================================================================
