-------------------------- MODULE ReassignmentBugs ---------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS ReassignmentRules

(* Z47: a replica is removed and added again in one update of the metadata, *)
(* and the leader keeps its end offset from before its log was deleted.     *)
Z47_KeepsEndOffsets(known, partition) == TRUE

(* Z130 (Apache Kafka 4.3.1): the added replicas are computed from the      *)
(* present list, which contains those being added; an empty result is not   *)
(* written.                                                                 *)
Z130_AddingAfter(partition, target) ==
  LET added == RangeOf(target) \ RangeOf(partition.replicas)
  IN IF added = {} THEN partition.adding ELSE added

(* Z131 (Apache Kafka 4.3.1): where nobody is removed, those that were      *)
(* being removed still are.                                                 *)
Z131_RemovingAfter(partition, target) ==
  LET removed == RangeOf(partition.replicas) \ RangeOf(target)
  IN IF removed = {} THEN partition.removing ELSE removed

(* Z132 (KAFKA-15665; Apache Kafka 4.3.1): a reassignment ends although so  *)
(* few are left in the ISR that nothing is acknowledged any more.           *)
Z132_KeepsMinIsr(partition, kept, minIsr) == TRUE

(* Z133 (Apache Kafka 4.3.1): a broker that leaves the ISR stays eligible,  *)
(* although it is no replica any more and deletes its log.                  *)
Z133_EligibleAfter(partition, replicas, isr, unclean, minIsr) ==
  IF ~ElrEnabled \/ Cardinality(isr) >= minIsr THEN {}
  ELSE ((partition.elr \cup partition.isr) \ isr) \ unclean

Z133_LastKnownAfter(old, new) == LastLeader(old, new)

(* Z134: a replica leaves, and the leader epoch stays: its late fetches     *)
(* count, and it may be proposed again.                                     *)
Z134_LeaderEpochBumped(old, new) == new.leader # old.leader

(* Z135: a reassignment is given up although that leaves nobody in the ISR, *)
(* and unclean elections are not allowed.                                   *)
Z135_CancelRefused(partition) ==
  IF partition.adding = {} /\ partition.removing = {} THEN "NO_REASSIGNMENT_IN_PROGRESS" ELSE ""

(* Z160 (Apache Kafka 4.3.1): a heartbeat unfences a broker and names a     *)
(* directory that has failed; both changes of a partition are computed from *)
(* what it was before.                                                      *)
Z160_BaseOfSecond(before, first) == before

(* Z193 (mutant): the placer does not look at racks.                        *)
Z193_TakesTurns(active, usable, taken, b) == TRUE

(* Z305 (KAFKA-16540): the ELR stays when min.insync.replicas changes.      *)
Z305_ClearsEligible(partition) == FALSE
==============================================================================
