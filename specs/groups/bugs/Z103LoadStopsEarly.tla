------------------------- MODULE Z103LoadStopsEarly --------------------------
(* Z103 (KAFKA-5600): a load ends after the first part of the log (G6).     *)
EXTENDS GroupRules

Z103_IsLoaded(position, endOffset) == position > 0 \/ position = endOffset
=============================================================================
