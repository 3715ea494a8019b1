----------------------------- MODULE HostingBugs -----------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS HostingRules

(* Z125 (Apache Kafka 4.3.1): a snapshot is read as a delta from nothing,   *)
(* which removes no replica.                                                *)
Z125_HasLeft(row, bySnapshot) ==
  ~bySnapshot /\ row.replica.topicId = row.image.topicId /\ ~row.image.assigned

(* Z126 (Apache Kafka 4.3.1): a snapshot reports every partition again, and *)
(* clears proposals.                                                        *)
Z126_ClearsPending(row, bySnapshot) ==
  bySnapshot \/ row.image.partitionEpoch > row.replica.partitionEpoch

(* Z127 (KAFKA-14894): a snapshot does not tell which topics are gone.      *)
Z127_IsOfDeletedTopic(row, bySnapshot) ==
  ~bySnapshot /\ row.replica.topicId # row.image.topicId

(* Z129 (Apache Kafka 4.3.1): what a transaction has is dropped at its       *)
(* Abort only if nothing follows that in the same reading.                   *)
Z129_ReadsAborted(row, bySnapshot) ==
  ~bySnapshot /\ row.aborted # Undefined /\ row.image.partitionEpoch > row.aborted

(* Z136 (KAFKA-14616): a log is stray by its name only, not by its topic id.*)
Z136_IsStray(log, image) ==
  ~image.assigned

(* Z137 (KAFKA-16234): a replica in a failed directory is created again in  *)
(* another one.                                                             *)
Z137_MayCreate(row) ==
  TRUE

(* Z138 (KAFKA-16297): a move that did not happen is not reported.          *)
Z138_TakesBackAssignment(row) ==
  FALSE

(* Z139 (Apache Kafka 4.3.1): a removed replica whose directory has failed  *)
(* stays hosted.                                                            *)
Z139_ForgetsOffline(row) ==
  FALSE

(* Z300: a future log is promoted because it was caught up once.            *)
Z300_PromotesFuture(row) == row.futureAssigned

(* Z301 (Apache Kafka 4.3.1): a start takes a future log for the replica    *)
(* without a look at its end.                                               *)
Z301_RecoversFuture(row) == row.future = row.image.directory
==============================================================================
