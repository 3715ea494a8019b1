--------------------------- MODULE MCTransactions ---------------------------
(***************************************************************************)
(* Transactions within bounds.  Messages whose kind is in Late may arrive   *)
(* at any time and any number of times; others only while their sender      *)
(* waits for an answer.                                                     *)
(***************************************************************************)
EXTENDS TransactionProperties, TLC

CONSTANTS
  MaxTransactions,
  MaxTimeouts,         \* transactions that the coordinator aborts
  MaxAppendTimeouts,   \* records whose acknowledgement comes too late
  MaxLeaderless,       \* how often a partition loses its leader
  MaxLeaderChanges,    \* how often another replica leads a partition
  MaxMoreOffsets,      \* offsets that are sent after others of their transaction
  MaxGivenUp,          \* batches that a producer gives up
  Late                 \* kinds of requests that may arrive late

VARIABLE spent

mcVars == <<vars, spent>>

Symmetry == Permutations(Partitions)

MCInit ==
  /\ Init /\ HistoryInit
  /\ spent = [transactions |-> 0, timeouts |-> 0, appendTimeouts |-> 0, leaderless |-> 0,
              leaderChanges |-> 0, moreOffsets |-> 0, givenUp |-> 0]

IsAwaited(m) ==
  \/ m.type \in Late
  \/ CASE m.type = "Produce" ->
            /\ clients[m.client].status = "Open" /\ clients[m.client].txn = m.txn
            /\ clients[m.client].sequences[m.partition] = m.sequence + 1
       [] m.type = "EndTxn" ->
            /\ clients[m.client].status \in {"Ending", "Recovering"}
            /\ clients[m.client].txn = m.txn
       [] m.type = "BumpEpoch" ->
            clients[m.client].status = "Bumping" /\ clients[m.client].epoch = m.epoch
       [] m.type = "AddPartitions" ->
            /\ clients[m.client].status = "Open" /\ clients[m.client].epoch = m.epoch
            /\ m.partition \in clients[m.client].sent \ clients[m.client].added
       [] m.type = "WriteTxnMarkers" ->
            /\ m.partition \in Current.toMark
            /\ m = Marker(Current, Current.txn, m.partition)

Free(Action) == Action /\ UNCHANGED <<spent, readers>>
Paid(what, most, Action) ==
  spent[what] < most /\ Action /\ spent' = [spent EXCEPT ![what] = @ + 1] /\ UNCHANGED readers

(* A transaction begins with its first batch.                               *)
BeginsAt(c) == clients[c].status = "Ready"

ClientActions(c) ==
  \/ \E p \in Partitions :
       CASE BeginsAt(c) ->
              Paid("transactions", MaxTransactions, Send(c, p, spent.transactions + 1))
         [] p \in clients[c].sent ->
              Paid("moreOffsets", MaxMoreOffsets, Send(c, p, clients[c].txn))
         [] OTHER -> Free(Send(c, p, clients[c].txn))
  \/ \E decision \in {"Commit", "Abort"} : Free(End(c, decision))
  \/ \E p \in Partitions : Paid("givenUp", MaxGivenUp, GiveUp(c, p))
  \/ Free(Initialize(c))
  \/ Free(InitProducerId(c))

CoordinatorActions ==
  \/ Free(Acknowledged) \/ Free(Fence) \/ Free(MarkersDone) \/ Free(Loaded) \/ Free(Expire)
  \/ Paid("timeouts", MaxTimeouts, TransactionTimeout)
  \/ Paid("appendTimeouts", MaxAppendTimeouts, AppendTimeout)
  \/ MaxLeaderless > 0 /\ Free(MarkersAgain)
  \/ \E tail \in log.tails : Free(Elect(tail))

MessageActions ==
  \E m \in network :
    /\ IsAwaited(m)
    /\ Free(BumpEpoch(m) \/ AddPartitions(m) \/ EndTxn(m) \/ HandleProduce(m) \/ HandleMarker(m))

PartitionActions(p) ==
  \/ \E v \in partitions[p].verifying :
       \/ \E n \in 1..leaderEpoch : Free(AskCoordinator(n, p, v))
       \/ IsAwaited(v.request) /\ Free(HandleVerified(p, v))
  \/ Paid("leaderless", MaxLeaderless, LoseLeader(p))
  \/ Free(FindLeader(p))
  \/ Free(Replicate(p))
  \/ Paid("leaderChanges", MaxLeaderChanges, ChangeLeader(p))
  \/ Free(Sweep(p))
  \/ Free(ApplyMarker(p))

MCNext ==
  /\ \/ \E c \in Clients : ClientActions(c)
     \/ CoordinatorActions
     \/ MessageActions
     \/ \E p \in Partitions : PartitionActions(p)
     \/ \E r \in Readers, p \in Partitions : Read(r, p) /\ UNCHANGED spent
  /\ HistoryNext

MCSpec == MCInit /\ [][MCNext]_mcVars
=============================================================================
