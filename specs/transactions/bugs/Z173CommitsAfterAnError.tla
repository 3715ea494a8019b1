---------------------- MODULE Z173CommitsAfterAnError ----------------------
(* Z173: a transaction is committed of which a batch was given up, or       *)
(* refused (X32, X36).                                                      *)
EXTENDS TransactionRules

Z173_MayCommit(client) ==
  \/ client.status = "Open" /\ client.acked = client.sent
  \/ client.status = "Abortable" /\ client.acked # {}
============================================================================
