----------------------- MODULE Z180RebalanceForgotten -----------------------
(* Z180: a group goes back to the classic protocol in a generation that its *)
(* members are in; that they are to join again is not recorded (G47).       *)
EXTENDS GroupRules

Z180_DowngradedGeneration(row) == row.epoch
=============================================================================
