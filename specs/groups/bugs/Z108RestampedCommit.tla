------------------------- MODULE Z108RestampedCommit ------------------------
(* Z108: a commit goes out with the epoch of the moment, not of the one     *)
(* in which it was asked for (G29).                                         *)
EXTENDS GroupRules

Z108_StampedEpoch(row, request) == row.epoch
=============================================================================
