------------------------ MODULE Z104EventsInAnyOrder -------------------------
(* Z104 (KAFKA-10614): elections and resignations count in the order in     *)
(* which they are heard of (G6, G7).                                        *)
EXTENDS GroupRules

Z104_IsOutdatedEvent(row, event) == FALSE
=============================================================================
