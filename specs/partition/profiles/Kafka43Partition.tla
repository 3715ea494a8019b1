-------------------------- MODULE Kafka43Partition --------------------------
(***************************************************************************)
(* A partition as Apache Kafka 4.3 runs it, where that is not what the      *)
(* specs say is right; as Kafka43 is of the quorum, and under the same law. *)
(***************************************************************************)
EXTENDS BrokerCases, PartitionController

CONSTANT Entries

(* keeps-end-offsets: who was leader before keeps what it knew of followers.*)
K43_KeepsEndOffsets(row) == "keeps-end-offsets" \in Entries /\ row.role = "Leader"

(* clears-proposal: any metadata of the partition clears what is proposed.  *)
K43_ClearsPending(row, partition) ==
  \/ "clears-proposal" \in Entries
  \/ partition.partitionEpoch > row.partitionEpoch

(* fenced-not-compared: of a broker that is fenced any epoch will do.       *)
K43_IsStaleReplica(row, m) ==
  LET known == row.image.brokers[m.source]
  IN known.epoch > m.brokerEpoch /\ ~("fenced-not-compared" \in Entries /\ known.fenced)

-----------------------------------------------------------------------------
(* one-proposal: while a proposal that metadata has cleared is on its way,  *)
(* another is refused at once, and is as if it had not been made.           *)
Proposed(row, after) ==
  IF "one-proposal" \in Entries /\ row.alterRequest # NoRequest /\ row.pending = NoPending
  THEN {after, row} ELSE {after}

K43_HandleIsrShrinkTimeout(n, row, input) ==
  LET lagging == {r \in row.isr \ {n} : IsOutOfSync(row, r)}
      shrunk == [row EXCEPT !.pending = Proposal(n, row, "Shrink", row.isr \ lagging)]
  IN IF ~IsLeader(row) \/ row.pending # NoPending \/ lagging = {} THEN Disabled
     ELSE UNION {Outcome(after, {}) : after \in Proposed(row, shrunk)}

(* caught-up-before: who has now fetched what the leader had when it        *)
(* fetched last was caught up then, which may be recent.  When it fetched,  *)
(* and what the leader had, is not in the row, so that both are allowed.    *)
CaughtUp(row, m) ==
  LET old == row.remotes[m.source]
      now == old.caughtUp \/ m.fetchOffset >= EndOffset(row.log)
  IN IF "caught-up-before" \in Entries /\ old.endOffset # Undefined
        /\ m.fetchOffset >= old.endOffset
     THEN {now, TRUE} ELSE {now}

NotedAs(n, row, m) ==
  LET old == row.remotes[m.source]
      heard(caughtUp) ==
        [row EXCEPT !.remotes[m.source] =
           [endOffset |-> m.fetchOffset, brokerEpoch |-> m.brokerEpoch, caughtUp |-> caughtUp]]
      tried(after) == IF old.endOffset = m.fetchOffset THEN after ELSE Advanced(n, after)
  IN UNION {{tried(after) :
               after \in Proposed(heard(caughtUp), MaybeExpandIsr(n, heard(caughtUp), m.source))} :
            caughtUp \in CaughtUp(row, m)}

K43_HandleReplicaFetchRequest(n, row, m) ==
  LET error == FetchEpochError(row, m)
      offsetError == FetchOffsetError(row, m)
      fail(why) == Outcome(row, {ReplicaFetchResponse(n, row, m, why, <<>>, NoDivergence)})
      diverging == IsDiverging(row, m)
      noted == IF MayUpdateFetchState(row, m) THEN NotedAs(n, row, m) ELSE {row}
      records == IF diverging THEN <<>>
                 ELSE BatchesFrom(row.log, m.fetchOffset, EndOffset(row.log), FetchMaxRecords)
      reply == ReplicaFetchResponse(n, row, m, "NONE", records,
                                    IF diverging THEN EpochEndFor(row, m) ELSE NoDivergence)
  IN CASE error # "NONE" -> fail(error)
       [] offsetError # "NONE" -> fail(offsetError)
       [] IsStaleReplica(row, m) -> fail("NOT_LEADER_OR_FOLLOWER")
       [] OTHER -> UNION {Outcome(WithoutReached(after), {reply} \cup ReachedResponses(n, after)) :
                          after \in noted}
=============================================================================
