--------------------------- MODULE TransactionBugs ---------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS TransactionRules, TransactionPartition, TransactionCoordinator

(* Z61: the coordinator does not look at the producer's epoch, neither when *)
(* a partition is added nor when the transaction ends (X9, X20).            *)
Z61_AddPartitionsAnswer(row, m) ==
  CASE row.pending.state # "None" -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state \in Preparing -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Ongoing" /\ m.partition \in row.txn.partitions -> "NONE"
    [] OTHER -> "Append"

Z61_EndTxnAnswer(row, m) ==
  IF row.txn.state = "Ongoing" /\ row.pending.state = "None" THEN "Append"
  ELSE EndTxnAnswerV2(row, m)

(* Z62 (KAFKA-14402, before KIP-890): a batch opens a transaction without a *)
(* verification by the coordinator (X11).                                   *)
Z62_NeedsVerification(producer, epoch) == FALSE

(* Z63: guards are not unique. A verification of an earlier transaction     *)
(* admits its late batch while another guard exists (X13).                  *)
Z63_IsGuarded(guard, v) == guard # Unknown

(* Z65: the marker of a coordinator that was replaced is taken (T4).        *)
Z65_IsCoordinatorFenced(producer, m) == FALSE

(* Z66: the last stable offset passes a transaction whose marker is in the  *)
(* leader's log only (X17).                                                 *)
Z66_LastStableOffset(row) ==
  LET decided == DecidedUpTo(row.log)
  IN IF decided < Len(row.follower.log) THEN decided ELSE Len(row.follower.log)

(* Z70 (KAFKA-20734, Apache Kafka 4.3.1): a partition without a leader is   *)
(* taken for one that was deleted, and gets no marker (X22).                *)
Z70_MarkerDestination(hasLeader) == IF hasLeader THEN "Leader" ELSE "Deleted"

(* Z71 (Apache Kafka 4.3.1): a new coordinator makes its state of all that  *)
(* it has read, and acts on what is not committed (X4).                     *)
Z71_ActsOnCommittedOnly == FALSE

(* Z72 (Apache Kafka 4.3.1): a deposed coordinator that does not know it    *)
(* answers requests without an append (X2, X5).                             *)
Z72_AnswersWhenDeposed == TRUE

(* Z73 (KAFKA-19446): a marker of the partition's own epoch is taken        *)
(* although a transaction is open, which is the next one (X14).             *)
Z73_MarkerEpochOk(producer, m) == m.epoch >= producer.epoch

(* Z74 (KAFKA-19999): a marker that comes again is refused although nothing *)
(* was begun since, and its coordinator waits for ever (X14).               *)
Z74_MarkerRepeatOk(producer, m) == FALSE

(* Z76 (KAFKA-18575): a marker takes away the guard of the next transaction, *)
(* whose first batch is then refused (X14).                                 *)
Z76_MarkerClearsGuard(guard, m) == TRUE

(* Z77 (KAFKA-19367): a fence raises the epoch twice, and beyond the last   *)
(* one of the producer id (X8).                                             *)
Z77_FencedEpoch(epoch) == epoch + 2

(* Z78 (KAFKA-18660): the response to the end of a transaction has the old  *)
(* identity, not the next one (X21).                                        *)
Z78_EndAnsweredEpoch(epoch) == epoch

(* Z79 (KAFKA-18464): the epoch of a transaction's end is looked at before  *)
(* what is pending, so that the next end meets a row that still completes   *)
(* the last one (X20).                                                      *)
Z79_EndTxnAnswer(row, m) ==
  LET isRetry == row.txn.epoch \in {m.epoch + 1, CompletedEpoch(m.epoch + 1)}
  IN IF row.txn.state \in Preparing /\ ~isRetry THEN "PRODUCER_FENCED"
     ELSE EndTxnAnswerV2(row, m)

(* Z80 (KAFKA-20785, Apache Kafka 4.3.1): a commit after the coordinator's  *)
(* abort gets an error for an invalid state (X20).                          *)
Z80_EndTxnAnswer(row, m) ==
  LET answer == EndTxnAnswerV2(row, m)
  IN IF row.txn.state = "CompleteAbort" /\ row.txn.epoch # m.epoch /\ answer = "PRODUCER_FENCED"
        /\ row.txn.epoch \in {m.epoch + 1, CompletedEpoch(m.epoch + 1)}
     THEN "INVALID_TXN_STATE" ELSE answer

(* Z82 (KAFKA-5231, KAFKA-6119): the coordinator aborts with the producer's *)
(* own epoch, and the producer continues: half a transaction (X8).          *)
Z82_FencedEpoch(epoch) == epoch

(* Z83 (KAFKA-17877): a request with markers for several partitions is      *)
(* answered when the first of them is written (X23).                        *)
Z83_MarkedBy(row, m) == row.toMark

(* Z84 (KAFKA-17507): a marker is acknowledged before the group has applied *)
(* it, so that the next transaction's offsets may be there by then (X30).   *)
Z84_IsAppliedAtOnce(offsets) == FALSE

(* Z85 (KAFKA-9777): the answers of two partitions come at the same time,   *)
(* each finds the row locked by the other, and nobody looks again (X25).    *)
(* Here those of several partitions always do.                              *)
Z85_IsCompletionSeen(row) == Cardinality(row.txn.partitions) < 2

(* Z86 (KAFKA-9307): a load fails before it has read anything of this id,   *)
(* and what it has read is acted on (X4).  (Kafka gives an id that it does  *)
(* not know a new producer id.)                                             *)
Z86_ReadsWholeLog == FALSE

(* Z87 (Apache Kafka 4.3.1): offsets have no sequence number, so a late     *)
(* copy takes the place of newer ones (X29).                                *)
Z87_HasSequence(partition) == partition \notin Offsets

(* Z89: a producer is forgotten by the time of its records.  Of old ones each*)
(* sweep forgets it, unless its transaction is open (X16).                  *)
Z89_IsProducerExpired(producer) == ~producer.open

(* Z163 (Apache Kafka 4.3.1): a marker spares the guard of its own epoch    *)
(* only, which is that of the next transaction, and no later one (X14).     *)
Z163_MarkerClearsGuard(guard, m) == ~(EpochPerTransaction /\ guard = m.epoch)

(* Z165 (Apache Kafka 4.3.1): a marker that is refused with an error that   *)
(* the coordinator does not expect is not sent again (X22).                 *)
Z165_RetriesRefusedMarker == FALSE

(* Z166 (Apache Kafka 4.3.1): a transition whose record cannot be built     *)
(* stays pending, because only the end of an append takes it back, and no   *)
(* append began (X3). Here each failed append does so.                      *)
Z166_IsTakenBack(row) == FALSE

(* Z168: a reader of committed records receives no aborted transactions,    *)
(* because the index of its leader has none of them (X18).                  *)
Z168_AbortedAmong(aborted, offset, end) == {}

(* Z169: read_uncommitted is taken for all that the leader has: its readers *)
(* are shown what is above the high watermark (X17, X18).                   *)
Z169_ReadUpTo(row, isolation) ==
  IF isolation = "read_committed" THEN LastStableOffset(row) ELSE Len(row.log)

(* Z172: an id that was forgotten comes back with the producer id that it   *)
(* had, and its first epoch (X27).                                          *)
Z172_ReturnedEpoch(epoch) == (epoch \div EpochsOfId) * EpochsOfId

(* Z173: a transaction is committed of which a batch was given up, or       *)
(* refused (X32, X36).                                                      *)
Z173_MayCommit(client) ==
  \/ client.status = "Open" /\ client.acked = client.sent
  \/ client.status = "Abortable" /\ client.acked # {}

(* Z174: before KIP-360 a producer of version 1 continues in its epoch      *)
(* after it has given a batch up (X32).                                     *)
Z174_BumpsEpoch == FALSE

(* Z175: an id expires by its age alone, even during a transaction (X27).   *)
Z175_MayExpire(row) ==
  IdsExpire /\ row.pending.state = "None" /\ row.txn.state # "Dead"

(* Z176: an offset error of a group makes the producer unusable, although   *)
(* it could abort and continue (X29, X36; KIP-447).                         *)
Z176_AfterOffsetsError(error) ==
  CASE error \in Retriable -> "Retry"
    [] error = "INVALID_TXN_STATE" -> "Failed"
    [] error \in {"TRANSACTION_ABORTABLE", "GROUP_AUTHORIZATION_FAILED"} -> "Abortable"
    [] error \in FencingErrors \cup {"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID",
                                     "FENCED_INSTANCE_ID"} -> "Fenced"
    [] OTHER -> "Unusable"

(* Z177: a producer that requests its epoch again after a lost response is  *)
(* fenced (X7, KIP-360).                                                    *)
Z177_IsRepeatedBump(row, m) == FALSE

(* Z200 (Apache Kafka 4.3.1): what was listed as over its timeout is        *)
(* aborted, whatever transaction it is by then (X26).                       *)
Z200_StillListed(row) == TRUE

(* Z247 (a mutant): the first batch of an epoch that only a marker has      *)
(* announced may have any sequence number (X13).                            *)
Z247_IsInSequence(producer, m) ==
  producer.sequence = Unknown \/ m.sequence = producer.sequence

(* Z248 (a mutant): a batch is let in while a lower one waits for the       *)
(* coordinator (X13).                                                       *)
Z248_WaitsForLower(verifying, v) == FALSE

(* Z249 (a mutant): a fence is written with the first epoch of the next     *)
(* producer id (X8).                                                        *)
Z249_FencedEpoch(epoch) == epoch + 1

(* Z311 (a mutant): a producer whose id has expired takes itself for fenced *)
(* (X27, X29).                                                              *)
Z311_AfterEndError(decision, error) ==
  CASE error \in Retriable -> "Retry"
    [] error \in FencingErrors \cup {"INVALID_PRODUCER_ID_MAPPING"} -> "Fenced"
    [] error = "INVALID_TXN_STATE" -> "Failed"
    [] /\ error \in {"UNKNOWN_PRODUCER_ID", "TRANSACTION_ABORTABLE"}
       /\ decision = "Commit" -> "Abortable"
    [] OTHER -> "Unusable"

(* AnotherEndTold: A fault for properties to find: who ends its transaction *)
(* receives the epoch of the next end (X21).                                *)
Fault_EndAnsweredEpoch(epoch) == epoch + 1

(* BatchAppendedAgain: A fault for properties to find (Z58 of the           *)
(* partition): a batch that is sent again is appended again (T1, T3).       *)
Fault_IsDuplicateBatch(producer, m) == FALSE
Fault_BatchError(producer, m, guarded) ==
  CASE m.epoch < producer.epoch -> "INVALID_PRODUCER_EPOCH"
    [] NeedsVerification(producer, m.epoch) /\ ~guarded -> "INVALID_TXN_STATE"
    [] OTHER -> "NONE"

(* GuardOfNextEpochSpared: What would mend Z188: a late batch of a          *)
(* transaction that is being aborted leaves the guard that the next one's   *)
(* batches wait under (X13).                                                *)
Spared_WithBatch(row, m) ==
  LET spares == EpochPerTransaction /\ row.guard > m.epoch
      others == {v \in row.verifying : v.request # m}
  IN Showing(
    [row EXCEPT
       !.log = Append(@, BatchRecord(m)),
       !.producer.epoch = m.epoch,
       !.producer.sequence = m.sequence + 1,
       !.producer.open = TRUE,
       !.guard = IF spares THEN @ ELSE Unknown,
       !.verifying = IF spares THEN others ELSE Outdated(others),
       !.offsets = WithSent(@, m)])

(* MarkerLogsAnotherEpoch: A fault for properties to find: a marker that    *)
(* stands in the log with another epoch than the one that the partition     *)
(* remembers (X14).                                                         *)
Fault_MarkerRecord(m) ==
  [kind |-> "Marker", txn |-> 0, client |-> 0, epoch |-> m.epoch - 1, decision |-> m.decision]

(* OtherRecordLogged: A fault for properties to find: a record of another   *)
(* epoch is logged than the one that is pending (X1).                       *)
Fault_Begin(row, state, epoch, partitions, request) ==
  Outcome([row EXCEPT !.pending =
             [state |-> state, epoch |-> epoch, partitions |-> partitions, logged |-> TRUE,
              request |-> request]],
          <<[state |-> state, epoch |-> epoch + 1, partitions |-> partitions,
             leaderEpoch |-> row.coordinatorEpoch]>>,
          {}, {})

(* SameEpochForAll: A fault for properties to find: InitProducerId hands    *)
(* out the epoch that another instance has (X7).                            *)
Fault_InitialisedEpoch(epoch) == epoch
==============================================================================
