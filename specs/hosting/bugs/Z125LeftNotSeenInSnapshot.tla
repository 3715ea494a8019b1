---------------------- MODULE Z125LeftNotSeenInSnapshot ----------------------
(* Z125 (Apache Kafka 4.3.1): a snapshot is read as a delta from nothing,   *)
(* which removes no replica.                                                *)
EXTENDS HostingRules

Z125_HasLeft(row, bySnapshot) ==
  ~bySnapshot /\ row.replica.topicId = row.image.topicId /\ ~row.image.assigned
==============================================================================
