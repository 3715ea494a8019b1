---------------------- MODULE Z181TargetsTakenForOwned ----------------------
(* Z181: when a group goes back to the classic protocol, what was to be a   *)
(* member's own is recorded as its own (G47).                               *)
EXTENDS GroupRules

Z181_AssignmentAfterDowngrade(member) == member.target
=============================================================================
