---------------------- MODULE Z170FencedFetchExpandsIsr ----------------------
(* Z170: the offset of a fetch of an old leadership is offered to the ISR   *)
(* of a later one.  Kafka does this, where the fetch is noted late.         *)
EXTENDS PartitionRules

Z170_FencedFetchMayExpandIsr == TRUE
==============================================================================
