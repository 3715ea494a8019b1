-------------------------- MODULE Z62NoVerification --------------------------
(* Z62 (KAFKA-14402, before KIP-890): a batch opens a transaction without   *)
(* the coordinator being asked (X11).                                       *)
EXTENDS TransactionRules

Z62_NeedsVerification(producer, epoch) == FALSE
=============================================================================
