---------------------- MODULE Z74RepeatedMarkerRefused -----------------------
(* Z74 (KAFKA-19999): a marker that comes again is refused although nothing *)
(* was begun since, and its coordinator waits for ever (X14).               *)
EXTENDS TransactionRules

Z74_MarkerRepeatOk(producer, m) == FALSE
=============================================================================
