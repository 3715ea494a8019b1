----------------------- MODULE Z185SyncFromLoadedTail -----------------------
(* Z185: who asks a group that is stable for its assignment is told it,     *)
(* also while what was loaded of it is not committed (G39).                 *)
EXTENDS ClassicRules

Z185_IsTold(row) == row.state = "Stable" \/ row.log.leader = <<>>
=============================================================================
