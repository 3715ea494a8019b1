------------------------ MODULE Z135CancelEmptiesIsr ------------------------
(* Z135: a reassignment is given up although that leaves nobody in the ISR, *)
(* and unclean elections are not allowed.                                   *)
EXTENDS ReassignmentRules

Z135_CancelRefused(partition) ==
  IF partition.adding = {} /\ partition.removing = {} THEN "NO_REASSIGNMENT_IN_PROGRESS" ELSE ""
=============================================================================
