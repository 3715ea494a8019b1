------------------------ MODULE Z50NoCheckAfterAppend ------------------------
(* Z50: a producer is told of success although the ISR has shrunk meanwhile.*)
(* P6 refuses to advance below min ISR and so hides this one: it needs the  *)
(* high watermark of Kafka before KAFKA-15583.                              *)
EXTENDS PartitionRules

Z50_ParkedError(row) == "NONE"
Z50_EnoughInSync(row) == TRUE
==============================================================================
