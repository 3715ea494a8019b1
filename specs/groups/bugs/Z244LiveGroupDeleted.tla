----------------------- MODULE Z244LiveGroupDeleted -------------------------
(* Z244 (a mutant): a group is deleted although it has members (G37).       *)
EXTENDS GroupRules

Z244_MayDeleteGroup(row) == TRUE
=============================================================================
