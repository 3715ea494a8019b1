---------------------------- MODULE Transactions ----------------------------
(***************************************************************************)
(* Producers of one transactional id, its coordinators, the partitions that *)
(* it writes to, and a network.  Lifting turns the handlers into actions;   *)
(* bounds and budgets belong to models/.                                    *)
(*                                                                          *)
(* Coordinator n is the leader of the transaction log in epoch n; those     *)
(* below the last are deposed.                                              *)
(*                                                                          *)
(* What is left out of the network, and changes no property                 *)
(* (docs/reference/reductions.md):                                          *)
(*  1. An answer is heard when it is given.  To hear it later, or never,    *)
(*     is to have heard it and to wait; but for that to BumpEpoch, which is *)
(*     another request when it comes again.                                 *)
(*  2. A record is committed in the step in which somebody notices.         *)
(*  3. A message that its receiver refuses now and for ever, since epochs   *)
(*     only grow, is forgotten.                                             *)
(***************************************************************************)
EXTENDS TransactionCoordinator, TransactionPartition, TransactionClient, TransactionReader,
        LoadedLog

CONSTANTS
  Clients,           \* numbers of the producer's instances, from 1
  MaxCoordinators    \* how many epochs the transaction log may have

VARIABLES
  coordinators,   \* coordinators[n]: the row of the leader in epoch n
  leaderEpoch,    \* the epoch of the transaction log
  log,            \* the transaction log (TailLog)
  partitions,     \* partitions[p]: the row of p's leader
  leaderless,     \* the partitions that have no leader just now
  clients,        \* clients[c]: the row of instance c
  network,        \* requests that were sent and may arrive, again and again
  readers         \* readers[r]: the row of a consumer; no other action changes it

Init ==
  /\ coordinators = [n \in 1..MaxCoordinators |->
                       [NoCoordinator(n) EXCEPT !.active = (n = 1)]]
  /\ leaderEpoch = 1
  /\ log = InitialTailLog(InitialRecord)
  /\ partitions = [p \in Partitions |-> IF p \in Offsets THEN InitialOffsetsPartition
                                       ELSE InitialPartition]
  /\ leaderless = {}
  /\ clients = [c \in Clients |-> InitialClient(IF c = 1 THEN "Ready" ELSE "Off")]
  /\ network = {}
  /\ readers = [r \in Readers |-> InitialReader]

-----------------------------------------------------------------------------
(* Lifting.                                                                 *)

MayArrive(m, newPartitions) ==
  m.type \in {"Produce", "WriteTxnMarkers"} =>
    m.epoch >= Committed(newPartitions[m.partition]).producer.epoch

Remaining(messages, newPartitions) == {m \in messages : MayArrive(m, newPartitions)}

(* The receiver of a response, and its reaction.                            *)
ClientStep(a) ==
  LET m == a.request IN
  CASE a.error # "NONE" /\ Recovers -> Step_HandleRefused(clients[m.client], m, a.error)
    [] a.error # "NONE" /\ m.type = "EndTxn" ->
         Step_HandleEndRefused(clients[m.client], m, a.error)
    [] a.error # "NONE" -> {}
    [] m.type = "InitProducerId" -> Step_HandleInitialized(clients[m.client], a.epoch)
    [] m.type = "BumpEpoch" -> Step_HandleBumped(clients[m.client], m, a.epoch)
    [] m.type = "EndTxn" -> Step_HandleEnded(m.client, clients[m.client], m, a.epoch)
    [] m.type = "AddPartitions" /\ ~EpochPerTransaction ->
         Step_HandlePartitionAdded(m.client, clients[m.client], m.partition)
    [] OTHER -> {}

IsForPartition(m) ==
  m.type = "Verify" \/ (m.type = "AddPartitions" /\ EpochPerTransaction)

IsNotAllowed(a) == Recovers /\ a.error \notin Retriable \cup {"NONE"}

PartitionStep(a) ==
  LET row == partitions[a.request.partition]
  IN CASE ~IsForPartition(a.request) -> {}
       [] a.error = "NONE" -> Step_HandleAllowed(row, a.request.epoch)
       [] IsNotAllowed(a) -> Step_HandleNotAllowed(row, a.request.epoch)
       [] OTHER -> {}

(* Producers receive the results of their batches.                          *)
RefusedBatches(a) ==
  IF ~(IsForPartition(a.request) /\ IsNotAllowed(a)) THEN {}
  ELSE UNION {{<<v.request.client, o>> :
                 o \in Step_HandleRefused(clients[v.request.client], v.request,
                                          PassedOn(a.error))} :
              v \in Waiting(partitions[a.request.partition], a.request.epoch)}

Hear(answers, sent) ==
  LET hearing == UNION {{<<a.request.client, o>> : o \in ClientStep(a)} :
                       a \in {a \in answers : ~IsForPartition(a.request)}}
                 \cup UNION {RefusedBatches(a) : a \in answers}
      allowed == UNION {{<<a.request.partition, o>> : o \in PartitionStep(a)} : a \in answers}
  IN /\ clients' = [c \in Clients |->
                      IF \E t \in hearing : t[1] = c
                      THEN (CHOOSE t \in hearing : t[1] = c)[2].row ELSE clients[c]]
     /\ partitions' = [p \in Partitions |->
                         IF \E t \in allowed : t[1] = p
                         THEN (CHOOSE t \in allowed : t[1] = p)[2].row ELSE partitions[p]]
     /\ network' = Remaining(network \cup sent \cup UNION {t[2].sent : t \in hearing}, partitions)

Lift(n, outcomes) ==
  \E outcome \in outcomes :
    /\ coordinators' = [coordinators EXCEPT ![n] = outcome.row]
    /\ log' = IF outcome.records = <<>> THEN log ELSE WithAppended(log, outcome.records)
    /\ Hear(outcome.answers, outcome.sent)
    /\ UNCHANGED <<leaderEpoch, leaderless>>

(* Only the leader appends.  Of a deposed coordinator an answer may come    *)
(* that needs no append.                                                    *)
LiftAnswering(n, outcomes) ==
  /\ \/ n = leaderEpoch
     \/ /\ AnswersWhenDeposed /\ n < leaderEpoch
        /\ \A outcome \in outcomes :
             outcome.records = <<>> /\ outcome.row = coordinators[n]
  /\ Lift(n, outcomes)

LiftClient(c, outcomes) ==
  \E outcome \in outcomes :
    /\ clients' = [clients EXCEPT ![c] = outcome.row]
    /\ network' = Remaining(network \cup outcome.sent, partitions)
    /\ UNCHANGED <<coordinators, leaderEpoch, log, partitions, leaderless>>

(* A batch was accepted or refused; its producer learns whether it is in    *)
(* the log.                                                                 *)
LiftBatch(p, m, outcomes) ==
  \E outcome \in outcomes :
    LET after == [partitions EXCEPT ![p] = WithoutRefused(outcome.row)]
        hearing == CASE outcome.error = "NONE" /\ IsReplicated(outcome.row) ->
                          Step_HandleProduced(clients[m.client], m)
                     [] outcome.error \notin {"NONE", "WAIT"} ->
                          Step_HandleRefused(clients[m.client], m, outcome.error)
                     [] OTHER -> {}
    IN /\ partitions' = after
       /\ clients' = IF hearing = {} THEN clients
                     ELSE [clients EXCEPT ![m.client] = (CHOOSE t \in hearing : TRUE).row]
       /\ network' = Remaining(network, after)
       /\ UNCHANGED <<coordinators, leaderEpoch, log, leaderless>>

-----------------------------------------------------------------------------
(* Requests to the coordinator.                                             *)

InitProducerId(c) ==
  /\ clients[c].status = "Initializing"
  /\ Lift(leaderEpoch, Step_HandleInitProducerId(coordinators[leaderEpoch],
                                [type |-> "InitProducerId", client |-> c]))

BumpEpoch(m) ==
  /\ m.type = "BumpEpoch"
  /\ Lift(leaderEpoch, Step_HandleBumpEpoch(coordinators[leaderEpoch], m))

(* Version 1: from the producer.                                            *)
AddPartitions(m) ==
  /\ m.type = "AddPartitions"
  /\ LiftAnswering(leaderEpoch, Step_HandleAddPartitions(coordinators[leaderEpoch], m))

(* The partition's leader requests verification of a batch. Version 2 adds  *)
(* the partition; version 1 checks whether it was added (X11b).             *)
AskCoordinator(n, p, v) ==
  /\ ~v.answered
  /\ LET m == [type |-> IF EpochPerTransaction THEN "AddPartitions" ELSE "Verify",
               partition |-> p, epoch |-> v.request.epoch]
     IN LiftAnswering(n, IF EpochPerTransaction
                         THEN Step_HandleAddPartitions(coordinators[n], m)
                         ELSE Step_HandleVerify(coordinators[n], m))

EndTxn(m) ==
  /\ m.type = "EndTxn"
  /\ Lift(leaderEpoch, Step_HandleEndTxn(coordinators[leaderEpoch], m))

-----------------------------------------------------------------------------
(* The coordinator by itself.                                               *)

Current == coordinators[leaderEpoch]

(* A response that may arrive or be lost (see 1 above). This excludes an id *)
(* that comes back, because it could be forgotten and come back without     *)
(* end.                                                                     *)
MayBeLost(a) == a.request.type = "BumpEpoch" /\ Current.txn.state # "Dead"

(* The high watermark reaches the record; then the transition is made.      *)
Acknowledged ==
  \E outcome \in Step_HandleAcknowledged(Current, leaderless) :
    \E lost \in {{}, {a \in outcome.answers : MayBeLost(a)}} :
      /\ coordinators' = [coordinators EXCEPT ![leaderEpoch] = outcome.row]
      /\ log' = WithCommitted(log)
      /\ Hear(outcome.answers \ lost, outcome.sent)
      /\ UNCHANGED <<leaderEpoch, leaderless>>

AppendTimeout == Lift(leaderEpoch, Step_HandleAppendTimeout(Current))
TransactionTimeout == Lift(leaderEpoch, Step_HandleTransactionTimeout(Current))
ListTimedOut == Lift(leaderEpoch, Step_HandleListTimedOut(Current))
AbortListed == Lift(leaderEpoch, Step_HandleAbortListed(Current))
Fence == Lift(leaderEpoch, Step_HandleFence(Current))
MarkersAgain == Lift(leaderEpoch, Step_HandleMarkersAgain(Current, leaderless))
MarkersDone == Lift(leaderEpoch, Step_HandleMarkersDone(Current))
Expire == Lift(leaderEpoch, Step_HandleExpire(Current))

(* Another replica is elected, whose log is one that can be; it loads it    *)
(* later.  X5: the old leader forgets its rows, unless they may answer yet. *)
Elect(tail) ==
  /\ leaderEpoch < MaxCoordinators
  /\ tail \in log.tails
  /\ leaderEpoch' = leaderEpoch + 1
  /\ log' = WithLeader(log, tail)
  /\ coordinators' = IF AnswersWhenDeposed THEN coordinators
                     ELSE [coordinators EXCEPT ![leaderEpoch] = NoCoordinator(leaderEpoch)]
  /\ UNCHANGED <<partitions, leaderless, clients, network>>

Loaded ==
  /\ ~Current.active
  /\ log' = IF ActsOnCommittedOnly THEN WithFound(log) ELSE log
  /\ \E outcome \in Step_HandleLoaded(Current, LastOf(log), leaderless) :
       /\ coordinators' = [coordinators EXCEPT ![leaderEpoch] = outcome.row]
       /\ Hear({}, outcome.sent)
  /\ UNCHANGED <<leaderEpoch, leaderless>>

-----------------------------------------------------------------------------
(* Partitions.                                                              *)

HandleProduce(m) ==
  /\ m.type = "Produce" /\ m.partition \notin leaderless
  /\ LiftBatch(m.partition, m, Step_HandleProduce(partitions[m.partition], m))

HandleVerified(p, v) ==
  /\ p \notin leaderless
  /\ LiftBatch(p, v.request, Step_HandleVerified(partitions[p], v))

(* A marker, and the coordinator's hearing that it was written.             *)
HandleMarker(m) ==
  /\ m.type = "WriteTxnMarkers" /\ m.partition \notin leaderless
  /\ \E outcome \in Step_HandleMarker(partitions[m.partition], m) :
       LET after == [partitions EXCEPT ![m.partition] = WithoutRefused(outcome.row)]
           heard == IF /\ outcome.error = "NONE" /\ IsReplicated(outcome.row)
                       /\ m.coordinatorEpoch = leaderEpoch
                    THEN Step_HandleMarkerReply(Current, m) ELSE {}
       IN /\ partitions' = after
          /\ coordinators' = IF heard = {} THEN coordinators
                             ELSE [coordinators EXCEPT ![leaderEpoch] =
                                     (CHOOSE h \in heard : TRUE).row]
          /\ network' = Remaining(network, after)
          /\ UNCHANGED <<leaderEpoch, log, leaderless, clients>>

(* The marker of the transaction at hand is refused, and comes no more by   *)
(* itself.                                                                  *)
RefuseMarker(m) ==
  /\ m.type = "WriteTxnMarkers" /\ m.partition \notin leaderless
  /\ m = Marker(Current, Current.txn, m.partition)
  /\ \E outcome \in Step_HandleMarkerRefused(Current, m.partition) :
       coordinators' = [coordinators EXCEPT ![leaderEpoch] = outcome.row]
  /\ network' = network \ {m}
  /\ UNCHANGED <<leaderEpoch, log, partitions, leaderless, clients>>

LiftPartition(p, outcomes) ==
  \E outcome \in outcomes :
    /\ partitions' = [partitions EXCEPT ![p] = outcome.row]
    /\ network' = Remaining(network, partitions')
    /\ UNCHANGED <<coordinators, leaderEpoch, log, leaderless, clients>>

Replicate(p) == LiftPartition(p, Step_HandleReplicate(partitions[p]))
ChangeLeader(p) == LiftPartition(p, Step_HandleChangeLeader(partitions[p]))
Sweep(p) == LiftPartition(p, Step_HandleSweep(partitions[p]))
ApplyMarker(p) == LiftPartition(p, Step_HandleApplyMarker(partitions[p]))

LoseLeader(p) ==
  /\ p \notin leaderless /\ leaderless' = leaderless \cup {p}
  /\ UNCHANGED <<coordinators, leaderEpoch, log, partitions, clients, network>>
FindLeader(p) ==
  /\ p \in leaderless /\ leaderless' = leaderless \ {p}
  /\ UNCHANGED <<coordinators, leaderEpoch, log, partitions, clients, network>>

-----------------------------------------------------------------------------
(* Producers.                                                               *)

Send(c, p, txn) == LiftClient(c, Step_Send(c, clients[c], p, txn))
SendMore(c, p) == LiftClient(c, Step_SendMore(c, clients[c], p))
End(c, decision) == LiftClient(c, Step_End(c, clients[c], decision))
GiveUp(c, p) == LiftClient(c, Step_GiveUp(clients[c], p))
Initialize(c) == LiftClient(c, Step_Initialize(clients[c]))

-----------------------------------------------------------------------------
(* Readers.  A fetch and its answer are one step.                           *)

Read(r, p) ==
  /\ p \notin leaderless
  /\ \E read \in Step_HandleFetched(readers[r].read[p],
                   Fetched(partitions[p], readers[r].read[p].position, Isolation(r))) :
       readers' = [readers EXCEPT ![r].read[p] = read]
  /\ UNCHANGED <<coordinators, leaderEpoch, log, partitions, leaderless, clients, network>>
=============================================================================
