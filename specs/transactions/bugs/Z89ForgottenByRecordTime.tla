---------------------- MODULE Z89ForgottenByRecordTime ----------------------
(* Z89: a producer is forgotten by the time of its records.  Of old ones each*)
(* sweep forgets it, unless its transaction is open (X16).                  *)
EXTENDS TransactionRules

Z89_IsProducerExpired(producer) == ~producer.open
=============================================================================
