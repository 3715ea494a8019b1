---------------------- MODULE Z210LastAssignmentOnly ------------------------
(* Z210: a group that becomes one of the consumer protocol forgets what its *)
(* members have still of what they had before their last assignment (G45).  *)
EXTENDS GroupRules

Z210_PendingAfterUpgrade(member) == {}
=============================================================================
