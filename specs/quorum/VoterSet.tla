------------------------------ MODULE VoterSet ------------------------------
(* The voters (Q1: the static set of kraft.version 0), and majorities.      *)
(* Properties use this module, so no bug replaces it.                       *)
EXTENDS Integers, FiniteSets

CONSTANT Voters

Nobody == -1           \* no leader known, no vote given: Kafka's sentinel

IsMajority(nodes) == 2 * Cardinality(nodes) > Cardinality(Voters)
Others(n) == Voters \ {n}
=============================================================================
