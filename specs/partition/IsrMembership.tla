--------------------------- MODULE IsrMembership ----------------------------
(***************************************************************************)
(* The leader's side of the ISR: when a replica lags too far, when it       *)
(* may join, what is proposed to the controller, and what each answer does  *)
(* (KIP-497, KIP-841, KIP-903; Kafka's Partition and AlterPartitionManager).*)
(***************************************************************************)
EXTENDS PartitionRow

Proposal(n, row, kind, isr) ==
  [kind |-> kind, refused |-> FALSE,
   isr |-> {[broker |-> r, epoch |-> ProposedEpoch(n, row, r)] : r \in isr}]

(* Evaluated after every fetch of r (P9).                                   *)
MaybeExpandIsr(n, row, r) ==
  IF MayExpandIsr(row, r)
  THEN [row EXCEPT !.pending = Proposal(n, row, "Expand", row.isr \cup {r})]
  ELSE row

(* ACTION HandleReplicaLagTimeout                                           *)
(* WHO    a leader                                                          *)
(* WHAT   replica.lag.time.max.ms has passed since a follower was last      *)
(*        caught up (P10).                                                  *)
Step_HandleReplicaLagTimeout(n, row, input) ==
  IF /\ IsLeader(row) /\ row.remotes[input.replica].caughtUp
     /\ row.remotes[input.replica].endOffset # EndOffset(row.log)
  THEN Outcome([row EXCEPT !.remotes[input.replica].caughtUp = FALSE], {})
  ELSE Disabled

(* ACTION HandleIsrShrinkTimeout                                            *)
(* WHO    a leader                                                          *)
(* WHAT   The periodic check proposes an ISR without the lagging followers  *)
(*        (P10).                                                            *)
Step_HandleIsrShrinkTimeout(n, row, input) ==
  LET lagging == {r \in row.isr \ {n} : IsOutOfSync(row, r)}
  IN IF ~IsLeader(row) \/ row.pending # NoPending \/ lagging = {} THEN Disabled
     ELSE Outcome([row EXCEPT !.pending = Proposal(n, row, "Shrink", row.isr \ lagging)], {})

AlterPartitionRequest(n, row) ==
  [type |-> "AlterPartitionRequest", source |-> n, destination |-> Controller,
   brokerEpoch |-> row.brokerEpoch, leaderEpoch |-> row.leaderEpoch,
   partitionEpoch |-> row.partitionEpoch, isr |-> row.pending.isr, recovering |-> FALSE]

(* ACTION HandleSendAlterPartition                                          *)
(* WHO    a leader with a proposal                                          *)
(* WHAT   It sends the proposed ISR to the controller; one request is in    *)
(*        flight (P11).                                                     *)
Step_HandleSendAlterPartition(n, row, input) ==
  IF ~IsLeader(row) \/ ~MaySendAlterPartition(row) THEN Disabled
  ELSE Outcome([row EXCEPT !.alterRequest = AlterPartitionRequest(n, row)],
               {AlterPartitionRequest(n, row)})

(* P11.  The answer is to the change that is still proposed.                *)
AnswersPending(row, request) ==
  /\ IsLeader(row) /\ row.pending # NoPending /\ row.pending.isr = request.isr
  /\ row.partitionEpoch = request.partitionEpoch /\ row.leaderEpoch = request.leaderEpoch

(* ACTION HandleAlterPartitionResponse                                      *)
(* WHO    a leader                                                          *)
(* WHAT   It adopts a confirmed ISR and advances the high watermark, drops a *)
(*        refused proposal, waits for metadata, or retries (P11).           *)
Step_HandleAlterPartitionResponse(n, row, m) ==
  LET answered == [row EXCEPT !.alterRequest = NoRequest]
      confirmed == [answered EXCEPT !.pending = NoPending, !.isr = m.isr,
                                    !.partitionEpoch = m.partitionEpoch]
  IN CASE row.alterRequest # m.request -> Ignore(row, "NotAwaited")
       [] ~AnswersPending(row, m.request) -> Outcome(answered, {})
       [] m.error = "NONE" ->
            CASE m.leaderEpoch # row.leaderEpoch -> Outcome(answered, {})
              [] m.partitionEpoch < row.partitionEpoch -> Outcome(answered, {})
              [] AdvancesAfterAlterPartition -> AdvanceAndFinish(n, confirmed, {})
              [] OTHER -> Outcome(confirmed, {})
       [] IsRevertingError(m.error) -> Outcome([answered EXCEPT !.pending = NoPending], {})
       [] IsFinalError(m.error) -> Outcome([answered EXCEPT !.pending.refused = TRUE], {})
       [] OTHER -> Outcome(answered, {})
=============================================================================
