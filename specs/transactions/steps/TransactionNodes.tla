-------------------------- MODULE TransactionNodes --------------------------
(***************************************************************************)
(* The handlers as those of nodes that send each other messages: what       *)
(* recorded steps of the reference are judged by.  Nothing is decided here. *)
(* Node_A is Step_A of TransactionCoordinator, TransactionPartition or      *)
(* TransactionClient, lifted as Transactions does.                          *)
(*                                                                          *)
(* The transaction log with the coordinators that lead it is one node, as   *)
(* receiving and appending are one step: coordinators (by leader epoch),    *)
(* leaderEpoch, log, and leaderless: what their metadata says.  Each        *)
(* partition's leader is a node, each instance of the producer, and each    *)
(* reader.  An                                                              *)
(* answer without an error is a message, an error is why a step is ignored. *)
(***************************************************************************)
EXTENDS TransactionCoordinator, TransactionPartition, TransactionClient, TransactionReader,
        LoadedLog, TLC

CONSTANTS
  Clients, MaxCoordinators,
  MarkersRefused   \* whether partitions refuse markers for more than an epoch

CoordinatorNode == 0
NoClient == 0     \* of a request that a partition's leader makes

Result(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Disabled == {}

(* Why nothing came of an input, if nothing came of it.                     *)
Reason(before, after, sent, error) ==
  IF after = before /\ sent = {} /\ error \notin {"NONE", "WAIT"} THEN error ELSE ""

From(n, to, content) == content @@ [source |-> n, destination |-> to]

-----------------------------------------------------------------------------
(* The transaction log and its coordinators.                                *)

(* A tail is a record here, so that the set of them has members of a type.  *)
TailsOf(log) == [log EXCEPT !.tails = {t.records : t \in @}]
WithTails(log) == [log EXCEPT !.tails = {[records |-> t] : t \in @}]

InitialCoordinators ==
  [coordinators |-> [k \in 1..MaxCoordinators |-> [NoCoordinator(k) EXCEPT !.active = (k = 1)]],
   leaderEpoch |-> 1, log |-> WithTails(InitialTailLog(InitialRecord)), leaderless |-> {}]

(* The first instance of the producer has its epoch already.                *)
FirstProducer == InitialClient("Ready")
FurtherProducer == InitialClient("Off")

Current(row) == row.coordinators[row.leaderEpoch]

IsForPartition(m) ==
  m.type = "Verify" \/ (m.type = "AddPartitions" /\ m.client = NoClient)

(* The receiver of a response.  Errors of a partition, of an epoch and       *)
(* of an end are distinguished, as steps are judged on what they mention.   *)
Heard(a, content) == {From(CoordinatorNode, a.request.source, content)}

Granted(a) ==
  LET m == a.request
  IN CASE m.type = "InitProducerId" -> Heard(a, [type |-> "Initialized", epoch |-> a.epoch])
       [] m.type = "BumpEpoch" ->
            Heard(a, [type |-> "Bumped", was |-> m.epoch, epoch |-> a.epoch])
       [] m.type = "EndTxn" -> Heard(a, [type |-> "Ended", txn |-> m.txn, epoch |-> a.epoch])
       [] m.type = "AddPartitions" /\ ~EpochPerTransaction ->
            Heard(a, [type |-> "PartitionAdded", partition |-> m.partition])
       [] OTHER -> Heard(a, [type |-> "Allowed", epoch |-> m.epoch])

Refused(a) ==
  CASE ~Recovers \/ a.error \in Retriable -> {}
    [] IsForPartition(a.request) ->
         Heard(a, [type |-> "NotAllowed", epoch |-> a.request.epoch, error |-> a.error])
    [] OTHER -> Heard(a, [type |-> "Refused", request |-> a.request, error |-> a.error])

Told(a) == IF a.error = "NONE" THEN Granted(a) ELSE Refused(a)

ToldOfEnd(a) ==
  IF HearsErrors /\ ~Recovers /\ a.error \in Fatal
  THEN Heard(a, [type |-> "EndRefused", txn |-> a.request.txn, error |-> a.error])
  ELSE Told(a)

NobodyHears(a) == {}

ErrorIn(answers) == IF answers = {} THEN "NONE" ELSE (CHOOSE a \in answers : TRUE).error

(* Tells(a): the receiver of a response.                                    *)
Lifted(row, k, outcomes, Tells(_)) ==
  {LET after == [row EXCEPT
                   !.coordinators[k] = o.row,
                   !.log = IF o.records = <<>> THEN @
                           ELSE WithTails(WithAppended(TailsOf(@), o.records))]
       sent == {From(CoordinatorNode, m.partition, m) : m \in o.sent}
                 \cup UNION {Tells(a) : a \in o.answers}
   IN [row |-> after, sent |-> sent, ignored |-> Reason(row, after, sent, ErrorIn(o.answers))] :
     o \in outcomes}

(* As LiftAnswering: only the leader appends.                               *)
Answering(row, k, outcomes) ==
  IF \/ k = row.leaderEpoch
     \/ AnswersWhenDeposed /\ \A o \in outcomes : o.records = <<>> /\ o.row = row.coordinators[k]
  THEN Lifted(row, k, outcomes, Told) ELSE Disabled

Node_HandleBumpEpoch(n, row, m) ==
  Lifted(row, row.leaderEpoch, Step_HandleBumpEpoch(Current(row), m), Told)

Node_HandleExpire(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleExpire(Current(row)), NobodyHears)

(* A request has the number of epochs that its sender's metadata lack.      *)
Asked(row, m) == row.leaderEpoch - m.behind

Node_HandleInitProducerId(n, row, m) ==
  Lifted(row, row.leaderEpoch, Step_HandleInitProducerId(Current(row), m), Told)

Node_HandleAddPartitions(n, row, m) ==
  LET k == Asked(row, m)
  IN IF k \notin 1..row.leaderEpoch THEN Disabled
     ELSE Answering(row, k, Step_HandleAddPartitions(row.coordinators[k], m))

Node_HandleVerify(n, row, m) ==
  LET k == Asked(row, m)
  IN IF k \notin 1..row.leaderEpoch THEN Disabled
     ELSE Answering(row, k, Step_HandleVerify(row.coordinators[k], m))

Node_HandleEndTxn(n, row, m) ==
  Lifted(row, row.leaderEpoch, Step_HandleEndTxn(Current(row), m), ToldOfEnd)

Node_HandleMarkerReply(n, row, m) ==
  IF m.marker.coordinatorEpoch # row.leaderEpoch THEN Disabled
  ELSE Lifted(row, row.leaderEpoch, Step_HandleMarkerReply(Current(row), m.marker), NobodyHears)

Node_HandleAcknowledged(n, row, input) ==
  {[o EXCEPT !.row.log = WithTails(WithCommitted(TailsOf(@)))] :
     o \in Lifted(row, row.leaderEpoch, Step_HandleAcknowledged(Current(row), row.leaderless),
                  Granted)}

Node_HandleAppendTimeout(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleAppendTimeout(Current(row)), NobodyHears)
Node_HandleTransactionTimeout(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleTransactionTimeout(Current(row)), NobodyHears)
Node_HandleListTimedOut(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleListTimedOut(Current(row)), NobodyHears)
Node_HandleAbortListed(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleAbortListed(Current(row)), NobodyHears)
Node_HandleFence(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleFence(Current(row)), NobodyHears)
Node_HandleMarkersAgain(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleMarkersAgain(Current(row), row.leaderless), NobodyHears)
Node_HandleMarkerRefused(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleMarkerRefused(Current(row), input.partition),
         NobodyHears)
Node_HandleMarkersDone(n, row, input) ==
  Lifted(row, row.leaderEpoch, Step_HandleMarkersDone(Current(row)), NobodyHears)

Node_HandleElect(n, row, input) ==
  IF row.leaderEpoch = MaxCoordinators \/ input.tail \notin row.log.tails THEN Disabled
  ELSE Result([row EXCEPT
                 !.leaderEpoch = @ + 1,
                 !.log = WithTails(WithLeader(TailsOf(@), input.tail.records)),
                 !.coordinators[row.leaderEpoch] =
                   IF AnswersWhenDeposed THEN @ ELSE NoCoordinator(row.leaderEpoch)], {})

Inputs_Elect(n, row) == {[type |-> "Elect", tail |-> t] : t \in row.log.tails}

Node_HandleLoaded(n, row, input) ==
  LET log == TailsOf(row.log) IN
  IF Current(row).active THEN Disabled
  ELSE {[o EXCEPT !.row.log = IF ActsOnCommittedOnly THEN WithTails(WithFound(log)) ELSE @] :
          o \in Lifted(row, row.leaderEpoch,
                       Step_HandleLoaded(Current(row), LastOf(log), row.leaderless), NobodyHears)}

Node_HandleLoseLeader(n, row, input) ==
  IF input.partition \in row.leaderless THEN Disabled
  ELSE Result([row EXCEPT !.leaderless = @ \cup {input.partition}], {})
Node_HandleFindLeader(n, row, input) ==
  IF input.partition \notin row.leaderless THEN Disabled
  ELSE Result([row EXCEPT !.leaderless = @ \ {input.partition}], {})

Inputs_MarkerRefused(n, row) ==
  IF MarkersRefused THEN {[type |-> "MarkerRefused", partition |-> p] : p \in Partitions} ELSE {}
Inputs_LoseLeader(n, row) == {[type |-> "LoseLeader", partition |-> p] : p \in Partitions}
Inputs_FindLeader(n, row) == {[type |-> "FindLeader", partition |-> p] : p \in Partitions}

-----------------------------------------------------------------------------
(* Partitions.                                                              *)

(* Why a batch is refused, for a producer that handles every error.         *)
Refusing(n, m, error) == From(n, m.source, [type |-> "Refused", request |-> m, error |-> error])

HandledBatch(n, row, m, outcomes, done) ==
  {LET after == WithoutRefused(o.row)
       sent == CASE o.error = "NONE" /\ IsReplicated(o.row) -> {done}
                 [] Recovers /\ o.error \notin {"NONE", "WAIT"} -> {Refusing(n, m, o.error)}
                 [] OTHER -> {}
   IN [row |-> after, sent |-> sent, ignored |-> Reason(row, after, sent, o.error)] :
     o \in outcomes}

(* As LiftBatch and HandleMarker.  done: what is sent of what was written.  *)
Handled(row, outcomes, done) ==
  {LET after == WithoutRefused(o.row)
       sent == IF o.error = "NONE" /\ IsReplicated(o.row) THEN {done} ELSE {}
   IN [row |-> after, sent |-> sent, ignored |-> Reason(row, after, sent, o.error)] :
     o \in outcomes}

Produced(n, m) ==
  From(n, m.source, [type |-> "Produced", txn |-> m.txn, partition |-> m.partition,
                     sequence |-> m.sequence])

Node_HandleProduce(n, row, m) ==
  HandledBatch(n, row, m, Step_HandleProduce(row, m), Produced(n, m))

Node_HandleNotAllowed(n, row, m) ==
  {[row |-> WithoutRefused(Showing(o.row)), ignored |-> "",
    sent |-> {Refusing(n, v.request, PassedOn(m.error)) : v \in Waiting(row, m.epoch)}] :
     o \in Step_HandleNotAllowed(row, m.epoch)}

Node_HandleConsumerFetch(n, row, m) ==
  Result(row, {From(n, m.source, [type |-> "Fetched"] @@ Fetched(row, m.offset, m.isolation))})

Node_HandleAsk(n, row, input) ==
  LET asked == [type |-> "Verify", partition |-> n, epoch |-> input.verification.request.epoch,
                behind |-> input.behind]
  IN IF input.verification \notin row.verifying \/ input.verification.answered THEN Disabled
     ELSE Result(row, {From(n, CoordinatorNode,
                            IF EpochPerTransaction
                            THEN [client |-> NoClient, type |-> "AddPartitions"] @@ asked
                            ELSE asked)})

Node_HandleAllowed(n, row, m) == Handled(row, Step_HandleAllowed(row, m.epoch), m)

Node_HandleVerified(n, row, input) ==
  LET v == input.verification
  IN IF v \notin row.verifying THEN Disabled
     ELSE HandledBatch(n, row, v.request, Step_HandleVerified(row, v), Produced(n, v.request))

Node_HandleWriteTxnMarkers(n, row, m) ==
  Handled(row, Step_HandleMarker(row, m),
          From(n, CoordinatorNode, [type |-> "MarkerReply", marker |-> m]))

Moved(row, outcomes) == Handled(row, outcomes, NoFollower)

Node_HandleReplicate(n, row, input) == Moved(row, Step_HandleReplicate(row))
Node_HandleChangeLeader(n, row, input) == Moved(row, Step_HandleChangeLeader(row))
Node_HandleSweep(n, row, input) == Moved(row, Step_HandleSweep(row))
Node_HandleApplyMarker(n, row, input) == Moved(row, Step_HandleApplyMarker(row))

Inputs_Ask(n, row) ==
  {[type |-> "Ask", verification |-> v, behind |-> b] :
     v \in row.verifying, b \in 0..(MaxCoordinators - 1)}
Inputs_Verified(n, row) == {[type |-> "Verified", verification |-> v] : v \in row.verifying}

-----------------------------------------------------------------------------
(* Producers.                                                               *)

(* A request knows to whom it is sent.                                      *)
Sent(n, m) ==
  CASE m.type = "Produce" -> From(n, m.partition, m)
    [] m.type = "AddPartitions" -> From(n, CoordinatorNode, [behind |-> 0] @@ m)
    [] OTHER -> From(n, CoordinatorNode, m)

Did(n, outcomes) ==
  {[row |-> o.row, sent |-> {Sent(n, m) : m \in o.sent}, ignored |-> ""] : o \in outcomes}

Node_HandleSend(n, row, input) == Did(n, Step_Send(n, row, input.partition, input.txn))
Node_HandleSendMore(n, row, input) == Did(n, Step_SendMore(n, row, input.partition))
Node_HandlePartitionAdded(n, row, m) == Did(n, Step_HandlePartitionAdded(n, row, m.partition))
Node_HandleProduced(n, row, m) == Did(n, Step_HandleProduced(row, m))
Node_HandleCommit(n, row, input) == Did(n, Step_End(n, row, "Commit"))
Node_HandleAbort(n, row, input) == Did(n, Step_End(n, row, "Abort"))
Node_HandleEnded(n, row, m) == Did(n, Step_HandleEnded(n, row, m, m.epoch))
Node_HandleBumped(n, row, m) ==
  Did(n, Step_HandleBumped(row, [epoch |-> m.was], m.epoch))
Node_HandleRefused(n, row, m) == Did(n, Step_HandleRefused(row, m.request, m.error))
Node_HandleGiveUp(n, row, input) == Did(n, Step_GiveUp(row, input.partition))
Node_HandleEndRefused(n, row, m) == Did(n, Step_HandleEndRefused(row, m, m.error))

(* It asks for an epoch, and again as long as it has none.                  *)
Node_HandleInitialize(n, row, input) ==
  LET asking == IF row.status = "Initializing" THEN {[row |-> row, sent |-> {}]}
                ELSE Step_Initialize(row)
  IN {[row |-> o.row, ignored |-> "",
       sent |-> {Sent(n, [type |-> "InitProducerId", client |-> n])}] : o \in asking}

(* X33: what nobody has answered is sent again.  The network of Transactions *)
(* forgets nothing, so there it needs no action.                            *)
(* Of several batches of a transaction in a partition, as nobody has noted  *)
(* which were answered, all; with version 1 the last one.                   *)
FirstUnanswered(row, p) ==
  IF EpochPerTransaction /\ p \notin Offsets THEN 0 ELSE row.sequences[p] - 1
BatchesAgain(n, row, p) ==
  {Produce(n, [row EXCEPT !.sequences[p] = sequence], p) :
     sequence \in FirstUnanswered(row, p)..(row.sequences[p] - 1)}
Unanswered(n, row) ==
  LET batched == IF EpochPerTransaction THEN row.sent ELSE row.added
      adds == IF EpochPerTransaction THEN {} ELSE row.sent \ row.added
  IN CASE row.status = "Open" ->
            UNION {BatchesAgain(n, row, p) : p \in batched \ row.acked}
              \cup {Add(n, row, p) : p \in adds}
       [] row.status \in {"Ending", "Recovering"} -> {EndOf(n, row)}
       [] row.status = "Bumping" -> {Bump(n, row)}
       [] OTHER -> {}

Node_HandleRetry(n, row, input) ==
  IF Unanswered(n, row) = {} THEN Disabled
  ELSE Result(row, {Sent(n, m) : m \in Unanswered(n, row)})

Node_HandleInitialized(n, row, m) == Did(n, Step_HandleInitialized(row, m.epoch))

(* A number that no other transaction has, and no earlier one of its        *)
(* producer is above.  BatchesOfEpoch: more than a run sends in an epoch.   *)
BatchesOfEpoch == 1000
RECURSIVE Total(_, _)
Total(counts, over) ==
  IF over = {} THEN 0
  ELSE LET p == CHOOSE p \in over : TRUE IN counts[p] + Total(counts, over \ {p})
NextTxn(n, row) ==
  IF row.status = "Open" THEN row.txn
  ELSE ((IF Recovers THEN row.epoch * BatchesOfEpoch ELSE row.epoch)
          + Total(row.sequences, Partitions)) * Cardinality(Clients) + n

Inputs_Send(n, row) ==
  {[type |-> "Send", partition |-> p, txn |-> NextTxn(n, row)] : p \in Partitions}
Inputs_SendMore(n, row) == {[type |-> "SendMore", partition |-> p] : p \in Partitions}
Inputs_GiveUp(n, row) == {[type |-> "GiveUp", partition |-> p] : p \in Partitions}

-----------------------------------------------------------------------------
(* Readers.                                                                 *)

Node_HandlePoll(n, row, input) ==
  Result(row, {From(n, input.partition,
                    [type |-> "ConsumerFetch", offset |-> row.read[input.partition].position,
                     isolation |-> Isolation(n)])})

Node_HandleFetched(n, row, m) ==
  {[row |-> [row EXCEPT !.read[m.source] = read], sent |-> {}, ignored |-> ""] :
     read \in Step_HandleFetched(row.read[m.source], m)}

Inputs_Poll(n, row) == {[type |-> "Poll", partition |-> p] : p \in Partitions}
=============================================================================
