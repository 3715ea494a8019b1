-------------------------- MODULE Z194HearsDeposed ---------------------------
(* Z194: a leader takes for the present what a deposed controller answered  *)
(* to a request that was given up, and asked again of the present one.      *)
EXTENDS PartitionRules

Z194_HearsDeposed == TRUE
==============================================================================
