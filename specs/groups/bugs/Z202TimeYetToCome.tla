------------------------- MODULE Z202TimeYetToCome --------------------------
(* Z202: the group's target is older than an interval only when the clock   *)
(* has passed the time at which it was made.  The first target, of epoch 1, *)
(* is that of a former coordinator, whose clock was ahead: no other one     *)
(* comes to that time as long as anybody looks (G15).                       *)
EXTENDS GroupRules

Z202_NeedsTarget(group) == group.targetEpoch < group.epoch /\ group.targetEpoch # 1
=============================================================================
