-------------------- MODULE Z66UnreplicatedMarkerPassed ---------------------
(* Z66: the last stable offset passes a transaction whose marker is in the  *)
(* leader's log only (X17).                                                 *)
EXTENDS TransactionRules

Z66_LastStableOffset(row) ==
  LET decided == DecidedUpTo(row.log)
  IN IF decided < Len(row.follower.log) THEN decided ELSE Len(row.follower.log)
=============================================================================
