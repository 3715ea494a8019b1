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

(* The second: no request for the epoch is repeated, in either abort.       *)
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

(* ACTION HandleInitProducerId                                              *)
(* WHO    the coordinator                                                   *)
(* WHAT   It fences an open transaction, or writes an empty row with the    *)
(*        next epoch (X6, X7).                                              *)
Step_HandleInitProducerId(row, m) ==
  Initialised(row, m, InitProducerIdAnswer(row), InitialisedEpoch(row.txn.epoch))

(* ACTION HandleBumpEpoch                                                   *)
(* WHO    the coordinator                                                   *)
(* WHAT   It gives a producer that names its epoch another one (X7;         *)
(*        KIP-360).                                                         *)
Step_HandleBumpEpoch(row, m) ==
  Initialised(row, m, BumpEpochAnswer(row, m), BumpedEpoch(row, m))

(* ACTION HandleAddPartitions                                               *)
(* WHO    the coordinator                                                   *)
(* WHAT   It adds a partition for a client (version 1) or for a partition's *)
(*        leader (version 2) (X9).                                          *)
Step_HandleAddPartitions(row, m) ==
  LET answer == AddPartitionsAnswer(row, m) IN
  CASE ~row.active -> {}
    [] answer = "Append" ->
         {Begin(row, "Ongoing", row.txn.epoch, row.txn.partitions \cup {m.partition}, m)}
    [] OTHER -> Refusal(row, m, answer)

(* ACTION HandleVerify                                                      *)
(* WHO    the coordinator                                                   *)
(* WHAT   It says whether a partition belongs to the open transaction (X10). *)
Step_HandleVerify(row, m) ==
  IF ~row.active THEN {} ELSE Refusal(row, m, VerifyAnswer(row, m))

(* ACTION HandleEndTxn                                                      *)
(* WHO    the coordinator                                                   *)
(* WHAT   It writes the decision, or returns an earlier one to a retry. A   *)
(*        commit between the two locks of a fence gets an exception (X19 to *)
(*        X21).                                                             *)
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

(* ACTION HandleTransactionTimeout                                          *)
(* WHO    the coordinator                                                   *)
(* WHAT   A transaction took too long, and is fenced (X26).                 *)
Step_HandleTransactionTimeout(row) ==
  IF row.active /\ row.txn.state = "Ongoing" /\ row.pending.state = "None"
  THEN {Outcome(Fencing(row), <<>>, {}, {})} ELSE {}

(* ACTION HandleListTimedOut                                                *)
(* WHO    the coordinator                                                   *)
(* WHAT   A sweep lists the transaction as timed out (X26; Kafka's          *)
(*        abortTimedOutTransactions).                                       *)
Step_HandleListTimedOut(row) ==
  IF /\ row.listed = Unknown /\ row.active
     /\ row.txn.state = "Ongoing" /\ row.pending.state = "None"
  THEN {Outcome([row EXCEPT !.listed = row.txn.epoch], <<>>, {}, {})} ELSE {}

(* ACTION HandleAbortListed                                                 *)
(* WHO    the coordinator                                                   *)
(* WHAT   The sweep fences a listed transaction, if it is still the listed  *)
(*        one (X26).                                                        *)
Step_HandleAbortListed(row) ==
  LET left == [row EXCEPT !.listed = Unknown]
      aborts == /\ StillListed(row)
                /\ row.txn.state = "Ongoing" /\ row.pending.state = "None"
  IN IF row.listed = Unknown THEN {}
     ELSE {Outcome(IF aborts THEN Fencing(left) ELSE left, <<>>, {}, {})}

(* ACTION HandleFence                                                       *)
(* WHO    the coordinator                                                   *)
(* WHAT   The second lock of a fence: the abort is written with the next    *)
(*        epoch. Before version 2 the epoch counts at once (X8).            *)
Step_HandleFence(row) ==
  LET epoch == FencedEpoch(row.txn.epoch)
      begun == Begin(WithoutLast(row), "PrepareAbort", epoch, row.txn.partitions, NoRequest)
  IN IF row.pending.state # "PrepareEpochFence" THEN {}
     ELSE {IF EpochPerTransaction THEN begun ELSE [begun EXCEPT !.row.txn.epoch = epoch]}

-----------------------------------------------------------------------------
(* ACTION HandleExpire                                                      *)
(* WHO    the coordinator                                                   *)
(* WHAT   A transactional id has been unused for too long, and a tombstone  *)
(*        is written. "Dead" is what its row and record are here, because   *)
(*        the next producer id must be a new one (X27).                     *)
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

(* ACTION HandleAcknowledged                                                *)
(* WHO    the coordinator                                                   *)
(* WHAT   Its record is committed. The transition takes effect, responses   *)
(*        are sent, and the markers of a decision follow (X1, X21, X22).    *)
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

(* ACTION HandleAppendTimeout                                               *)
(* WHO    the coordinator                                                   *)
(* WHAT   The append was not acknowledged in time. The old state stays, and *)
(*        the record stays in the log. A Complete record is written again   *)
(*        (X3).                                                             *)
Step_HandleAppendTimeout(row) ==
  IF ~row.pending.logged THEN {}
  ELSE {Outcome([row EXCEPT !.pending = IF IsTakenBack(row) THEN NothingPending
                                        ELSE [@ EXCEPT !.logged = FALSE]], <<>>, {}, {})}

(* ACTION HandleMarkersAgain                                                *)
(* WHO    the coordinator                                                   *)
(* WHAT   It sends again the markers that are not acknowledged (X22).       *)
Step_HandleMarkersAgain(row, leaderless) ==
  IF row.toMark = {} THEN {} ELSE {Outcome(row, <<>>, MarkersOf(row, leaderless), {})}

(* ACTION HandleMarkerReply                                                 *)
(* WHO    the coordinator                                                   *)
(* WHAT   A partition has written its marker (X24).                         *)
Step_HandleMarkerReply(row, m) ==
  IF row.active /\ IsMarkerReplyCurrent(row, m)
  THEN {Outcome([row EXCEPT !.toMark = @ \ MarkedBy(row, m)], <<>>, {}, {})} ELSE {}

(* ACTION HandleMarkerRefused                                               *)
(* WHO    the coordinator                                                   *)
(* WHAT   A partition has refused its marker, and not for an epoch. Without *)
(*        a retry nothing waits for the partition, and the decision is never *)
(*        completed (X22).                                                  *)
Step_HandleMarkerRefused(row, partition) ==
  IF partition \notin row.toMark THEN {}
  ELSE {Outcome(IF RetriesRefusedMarker THEN row
                ELSE [row EXCEPT !.toMark = @ \ {partition}, !.pending = NothingPending],
                <<>>, {}, {})}

(* ACTION HandleMarkersDone                                                 *)
(* WHO    the coordinator                                                   *)
(* WHAT   All markers are written, and Complete is appended (X25).          *)
Step_HandleMarkersDone(row) ==
  IF /\ row.pending.state \in Completed /\ ~row.pending.logged /\ row.toMark = {}
     /\ IsCompletionSeen(row)
  THEN {Begin(row, row.pending.state, row.pending.epoch, {}, NoRequest)}
  ELSE {}

-----------------------------------------------------------------------------
(* ACTION HandleLoaded                                                      *)
(* WHO    the next coordinator                                              *)
(* WHAT   It has read the log up to `last`, and acts on it (X4).            *)
Step_HandleLoaded(row, last, leaderless) ==
  LET record == IF ReadsWholeLog THEN last ELSE InitialRecord
      loaded == [row EXCEPT !.active = TRUE, !.txn = TxnOf(record)]
      waiting == WaitingForMarkers(loaded, loaded.txn, leaderless)
  IN IF record.state \in Preparing
     THEN {Outcome(waiting, <<>>, MarkersOf(waiting, leaderless), {})}
     ELSE {Outcome(loaded, <<>>, {}, {})}
=============================================================================
