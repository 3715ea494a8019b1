----------------------- MODULE Z106MarkerAnsweredEarly -----------------------
(* Z106 (KAFKA-17507): a marker is answered when it is in the log, and the  *)
(* coordinator does what it says later (G32).                               *)
EXTENDS GroupRules

Z106_IsMarkerAnswered(row) == TRUE
=============================================================================
