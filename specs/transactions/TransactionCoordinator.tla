----------------------- MODULE TransactionCoordinator -----------------------
(***************************************************************************)
(* What the leader of the transaction log does with an input (X1 to X10,    *)
(* X19 to X26).  A row is one coordinator in one epoch of the log:          *)
(*                                                                          *)
(*   active             whether the log has been loaded                     *)
(*   coordinatorEpoch   its leader epoch                                    *)
(*   txn                the state that it acts by: state, epoch, partitions *)
(*   pending            the transition that it has begun: a state ("None":  *)
(*                      there is none) with epoch and partitions; logged:   *)
(*                      its record is in the log; request: who is answered  *)
(*   toMark             partitions whose marker is not acknowledged yet     *)
(*   lastEpoch          the epoch that the producer named when it was given *)
(*                      its own (KIP-360), or Unknown; not in the log       *)
(*                      (KAFKA-20357)                                       *)
(*   listed             the epoch of the transaction that a sweep has       *)
(*                      listed as over its timeout, or Unknown: with other  *)
(*                      entries before it, its turn comes later             *)
(*                                                                          *)
(* A transition is received, appended and acknowledged.  Nothing happens    *)
(* outside between the first two, so they are one step; the third is its    *)
(* own for every record, as markers, answers and data follow from it.       *)
(*                                                                          *)
(* An outcome has the row, the records appended to the log, the messages    *)
(* sent, and the answers.                                                   *)
(***************************************************************************)
EXTENDS TransactionRules

NoRequest == [type |-> "None"]
NothingPending ==
  [state |-> "None", epoch |-> Unknown, partitions |-> {}, logged |-> FALSE,
   request |-> NoRequest]

(* What a row keeps of a record.                                            *)
TxnOf(record) ==
  [state |-> record.state, epoch |-> record.epoch, partitions |-> record.partitions]

InitialRecord ==
  [state |-> "Empty", epoch |-> 0, partitions |-> {}, leaderEpoch |-> 1]

NoCoordinator(n) ==
  [active |-> FALSE, coordinatorEpoch |-> n, txn |-> TxnOf(InitialRecord),
   pending |-> NothingPending, toMark |-> {}, lastEpoch |-> Unknown,
   listed |-> Unknown]

Outcome(row, records, sent, answers) ==
  [row |-> row, records |-> records, sent |-> sent, answers |-> answers]

Answer(m, error, epoch) ==
  [type |-> "Answer", request |-> m, error |-> error, epoch |-> epoch]

Refusal(row, m, error) == {Outcome(row, <<>>, {}, {Answer(m, error, row.txn.epoch)})}

(* The row with a transition begun, and its record in the log.              *)
Begin(row, state, epoch, partitions, request) ==
  Outcome([row EXCEPT !.pending =
             [state |-> state, epoch |-> epoch, partitions |-> partitions, logged |-> TRUE,
              request |-> request]],
          <<[state |-> state, epoch |-> epoch, partitions |-> partitions,
             leaderEpoch |-> row.coordinatorEpoch]>>,
          {}, {})

(* X8, the first lock: nothing is written yet.                              *)
Fencing(row) ==
  [row EXCEPT !.pending = [NothingPending EXCEPT !.state = "PrepareEpochFence"]]

(* The second: whoever aborts, no request for the epoch is repeated.        *)
WithoutLast(row) == [row EXCEPT !.lastEpoch = Unknown]

-----------------------------------------------------------------------------
(* Requests.                                                                *)

Initialised(row, m, answer, epoch) ==
  CASE ~row.active -> {}
    [] answer = "Append" ->
         {Begin(row, "Empty", IF row.txn.state = "Dead" THEN ReturnedEpoch(row.txn.epoch)
                              ELSE epoch, {}, m)}
    [] answer = "Fence" ->
         {Outcome(Fencing(row), <<>>, {}, {Answer(m, "CONCURRENT_TRANSACTIONS", Unknown)})}
    [] OTHER -> Refusal(row, m, answer)

Step_HandleInitProducerId(row, m) ==
  Initialised(row, m, InitProducerIdAnswer(row), InitialisedEpoch(row.txn.epoch))

Step_HandleBumpEpoch(row, m) ==
  Initialised(row, m, BumpEpochAnswer(row, m), BumpedEpoch(row, m))

(* From a client (version 1), or from a partition's leader (version 2).     *)
Step_HandleAddPartitions(row, m) ==
  LET answer == AddPartitionsAnswer(row, m) IN
  CASE ~row.active -> {}
    [] answer = "Append" ->
         {Begin(row, "Ongoing", row.txn.epoch, row.txn.partitions \cup {m.partition}, m)}
    [] OTHER -> Refusal(row, m, answer)

Step_HandleVerify(row, m) ==
  IF ~row.active THEN {} ELSE Refusal(row, m, VerifyAnswer(row, m))

Step_HandleEndTxn(row, m) ==
  LET answer == EndTxnAnswer(row, m) IN
  CASE ~row.active -> {}
    \* A commit between the two locks of a fence: an exception, nothing is done.
    [] answer = "Append" /\ row.pending.state = "PrepareEpochFence" /\ m.decision = "Commit" ->
         Refusal(row, m, "UNKNOWN_SERVER_ERROR")
    [] answer = "Append" ->
         {Begin(IF row.pending.state = "PrepareEpochFence" THEN WithoutLast(row) ELSE row,
                Prepared(m.decision), EndedEpoch(row.txn.epoch), row.txn.partitions, m)}
    [] OTHER -> Refusal(row, m, answer)

-----------------------------------------------------------------------------
(* Time: X8, X26.                                                           *)

Step_HandleTransactionTimeout(row) ==
  IF row.active /\ row.txn.state = "Ongoing" /\ row.pending.state = "None"
  THEN {Outcome(Fencing(row), <<>>, {}, {})} ELSE {}

(* Where a sweep lists many, it aborts one after the other                  *)
(* (TransactionCoordinator.abortTimedOutTransactions).                      *)
Step_HandleListTimedOut(row) ==
  IF /\ row.listed = Unknown /\ row.active
     /\ row.txn.state = "Ongoing" /\ row.pending.state = "None"
  THEN {Outcome([row EXCEPT !.listed = row.txn.epoch], <<>>, {}, {})} ELSE {}

Step_HandleAbortListed(row) ==
  LET left == [row EXCEPT !.listed = Unknown]
      aborts == /\ StillListed(row)
                /\ row.txn.state = "Ongoing" /\ row.pending.state = "None"
  IN IF row.listed = Unknown THEN {}
     ELSE {Outcome(IF aborts THEN Fencing(left) ELSE left, <<>>, {}, {})}

(* The second lock.  Before version 2 the epoch is in memory at once.       *)
Step_HandleFence(row) ==
  LET epoch == FencedEpoch(row.txn.epoch)
      begun == Begin(WithoutLast(row), "PrepareAbort", epoch, row.txn.partitions, NoRequest)
  IN IF row.pending.state # "PrepareEpochFence" THEN {}
     ELSE {IF EpochPerTransaction THEN begun ELSE [begun EXCEPT !.row.txn.epoch = epoch]}

-----------------------------------------------------------------------------
(* X27.  A tombstone is written.  "Dead" is what its row and record are     *)
(* here, as the next producer id must be a new one.                         *)
Step_HandleExpire(row) ==
  IF row.active /\ MayExpire(row) THEN {Begin(row, "Dead", row.txn.epoch, {}, NoRequest)} ELSE {}

-----------------------------------------------------------------------------
(* What follows from a record: X1, X21 to X25.                              *)

Marker(row, txn, partition) ==
  [type |-> "WriteTxnMarkers", partition |-> partition, epoch |-> txn.epoch,
   decision |-> DecisionOf(txn.state), coordinatorEpoch |-> row.coordinatorEpoch]

WaitingForMarkers(row, txn, leaderless) ==
  [row EXCEPT
     !.txn = txn,
     !.pending = [NothingPending EXCEPT !.state = CompletedAs(DecisionOf(txn.state)),
                                        !.epoch = CompletedEpoch(txn.epoch)],
     !.toMark = {p \in txn.partitions : MarkerDestination(p \notin leaderless) # "Deleted"}]

MarkersOf(row, leaderless) ==
  {Marker(row, row.txn, p) :
     p \in {p \in row.toMark : MarkerDestination(p \notin leaderless) = "Leader"}}

Step_HandleAcknowledged(row, leaderless) ==
  LET txn == TxnOf(row.pending)
      answers == IF row.pending.request = NoRequest THEN {}
                 ELSE {Answer(row.pending.request, "NONE",
                             IF txn.state \in Preparing THEN EndAnsweredEpoch(txn.epoch)
                             ELSE txn.epoch)}
      waiting == WaitingForMarkers(row, txn, leaderless)
  IN CASE ~row.active \/ ~row.pending.logged -> {}
       [] txn.state \in Preparing ->
            {Outcome(waiting, <<>>, MarkersOf(waiting, leaderless), answers)}
       [] OTHER ->
            {Outcome([row EXCEPT !.txn = txn, !.pending = NothingPending,
                                 !.lastEpoch = LastEpoch(row)], <<>>, {}, answers)}

(* X3.  The append was not acknowledged in time: the old state stays, and   *)
(* the record stays in the log.  A Complete record is written again.        *)
Step_HandleAppendTimeout(row) ==
  IF ~row.pending.logged THEN {}
  ELSE {Outcome([row EXCEPT !.pending = IF IsTakenBack(row) THEN NothingPending
                                        ELSE [@ EXCEPT !.logged = FALSE]], <<>>, {}, {})}

Step_HandleMarkersAgain(row, leaderless) ==
  IF row.toMark = {} THEN {} ELSE {Outcome(row, <<>>, MarkersOf(row, leaderless), {})}

Step_HandleMarkerReply(row, m) ==
  IF row.active /\ IsMarkerReplyCurrent(row, m)
  THEN {Outcome([row EXCEPT !.toMark = @ \ MarkedBy(row, m)], <<>>, {}, {})} ELSE {}

(* X22.  A partition has refused its marker, and not for an epoch.  Where   *)
(* that is the end of it, nobody waits for the partition, and nobody        *)
(* completes what is decided.                                               *)
Step_HandleMarkerRefused(row, partition) ==
  IF partition \notin row.toMark THEN {}
  ELSE {Outcome(IF RetriesRefusedMarker THEN row
                ELSE [row EXCEPT !.toMark = @ \ {partition}, !.pending = NothingPending],
                <<>>, {}, {})}

Step_HandleMarkersDone(row) ==
  IF /\ row.pending.state \in Completed /\ ~row.pending.logged /\ row.toMark = {}
     /\ IsCompletionSeen(row)
  THEN {Begin(row, row.pending.state, row.pending.epoch, {}, NoRequest)}
  ELSE {}

-----------------------------------------------------------------------------
(* X4.  The log up to `last` has been read by its new leader.               *)
Step_HandleLoaded(row, last, leaderless) ==
  LET record == IF ReadsWholeLog THEN last ELSE InitialRecord
      loaded == [row EXCEPT !.active = TRUE, !.txn = TxnOf(record)]
      waiting == WaitingForMarkers(loaded, loaded.txn, leaderless)
  IN IF record.state \in Preparing
     THEN {Outcome(waiting, <<>>, MarkersOf(waiting, leaderless), {})}
     ELSE {Outcome(loaded, <<>>, {}, {})}
=============================================================================
