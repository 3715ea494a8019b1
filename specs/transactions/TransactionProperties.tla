------------------------ MODULE TransactionProperties ------------------------
(***************************************************************************)
(* Named properties of transactions, and the history variables that they    *)
(* need. Law of this file: no decision of TransactionRules is used.         *)
(*                                                                          *)
(* The fate of a batch is the type of the first marker after it in its      *)
(* partition, or "None" without a marker.                                   *)
(***************************************************************************)
EXTENDS Transactions

VARIABLES
  decided,     \* Prepare and Complete records that are committed
  told,        \* ends of transactions that were answered without an error
  handedOut,   \* the largest epoch that InitProducerId was answered with
  late         \* <<partition, txn>> of batches appended below that epoch

vars == <<coordinators, leaderEpoch, log, partitions, leaderless, clients, network, readers,
          decided, told, handedOut, late>>

HistoryInit == decided = {} /\ told = {} /\ handedOut = 0 /\ late = {}

RecordsIn(records) == {records[i] : i \in 1..Len(records)}

DecisionIn(record) ==
  [state |-> record.state, epoch |-> record.epoch, partitions |-> record.partitions]

NewlyCommitted == IF log'.committed = log.committed THEN {} ELSE RecordsIn(log.leader)

ToldNow ==
  {[txn |-> clients[c].txn, decision |-> clients[c].decision, epoch |-> clients'[c].epoch] :
     c \in {c \in Clients : /\ clients[c].status \in {"Ending", "Recovering"}
                            /\ clients'[c].status \in {"Ready", "Bumping"}}}

HandedOutNow ==
  {clients'[c].epoch :
     c \in {c \in Clients : /\ clients[c].status \in {"Initializing", "Bumping"}
                            /\ clients'[c].status = "Ready"}}

AppendedTo(p) == Len(partitions'[p].log) > Len(partitions[p].log)
LastIn(p) == partitions'[p].log[Len(partitions'[p].log)]

HistoryNext ==
  /\ decided' = decided \cup {DecisionIn(r) : r \in {r \in NewlyCommitted :
       r.state \in {"PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}}}
  /\ told' = told \cup ToldNow
  /\ handedOut' = IF HandedOutNow = {} THEN handedOut ELSE CHOOSE e \in HandedOutNow : TRUE
  /\ late' = late \cup {<<p, LastIn(p).txn>> : p \in {p \in Partitions :
       AppendedTo(p) /\ LastIn(p).kind = "Batch" /\ LastIn(p).epoch < handedOut}}

-----------------------------------------------------------------------------
(* Definitions.                                                             *)

HasFollower(p) == partitions[p].follower.type = "Follower"

Batches(p) == {i \in 1..Len(partitions[p].log) : partitions[p].log[i].kind = "Batch"}
Markers(p) == {i \in 1..Len(partitions[p].log) : partitions[p].log[i].kind = "Marker"}

Fate(p, i) ==
  LET after == {j \in Markers(p) : j > i}
  IN IF after = {} THEN "None"
     ELSE partitions[p].log[CHOOSE j \in after : \A k \in after : j <= k].decision

(* <<txn, fate, partition>> of every batch.                                 *)
Fates == UNION {{<<partitions[p].log[i].txn, Fate(p, i), p>> : i \in Batches(p)} :
                  p \in Partitions}

PrepareOf(decision) == IF decision = "Commit" THEN "PrepareCommit" ELSE "PrepareAbort"
(* A producer id has MaxEpoch + 1 epochs for clients, and a last one.       *)
IsFirstOfId(epoch) == epoch % (MaxEpoch + 2) = 0
IsLastOfId(epoch) == epoch % (MaxEpoch + 2) = MaxEpoch + 1

DecisionIs(state) == IF state \in {"PrepareCommit", "CompleteCommit"} THEN "Commit" ELSE "Abort"

-----------------------------------------------------------------------------
(* Types.                                                                   *)

Epochs == -1..20
TxnStates == {"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit",
              "CompleteAbort", "Dead"}

(* Every field of a row has a value of its type. Misses: a value of the     *)
(* right type that is wrong in this state.                                  *)
TransactionTypeInv ==
  /\ \A n \in 1..MaxCoordinators :
       LET row == coordinators[n] IN
       /\ row.txn.state \in TxnStates /\ row.txn.epoch \in Epochs
       /\ row.pending.state \in TxnStates \cup {"None", "PrepareEpochFence"}
       /\ row.toMark \subseteq row.txn.partitions
       /\ row.active => n <= leaderEpoch
  /\ \A p \in Partitions :
       /\ partitions[p].producer.epoch \in Epochs
       /\ partitions[p].guard \in Epochs
       /\ \A v \in partitions[p].verifying : v.request.partition = p
  /\ \A c \in Clients :
       clients[c].status \in {"Off", "Initializing", "Ready", "Open", "Ending", "Fenced",
                              "Failed", "Abortable", "Recovering", "Bumping", "Unusable"}
  /\ \A r \in Readers : \A p \in Partitions :
       readers[r].read[p].shown \subseteq 1..readers[r].read[p].position

(* A partition's state of its producer is the one that its log implies.     *)
(* Misses: a wrong log, and sequence numbers.                               *)
ProducerStateIsOfLog ==
  \A p \in Partitions :
    LET records == partitions[p].log
        known == partitions[p].producer
        last == records[Len(records)]
    IN IF records = <<>> THEN known.epoch = -1 /\ ~known.open
       ELSE known.epoch = last.epoch /\ known.open = (last.kind = "Batch")

-----------------------------------------------------------------------------
(* Safety.                                                                  *)

(* No transaction is committed in one partition and aborted in another.     *)
(* Misses: a transaction that is committed in one partition and never ends  *)
(* in another.                                                              *)
TxnAtomic ==
  \A one \in Fates, other \in Fates :
    one[1] = other[1] => ~(one[2] = "Commit" /\ other[2] = "Abort")

(* A transaction whose commit was acknowledged is aborted in no partition.  *)
(* Misses: a committed batch that disappears from a log; logs lose nothing  *)
(* here.                                                                    *)
AckedCommit ==
  \A t \in told : t.decision = "Commit" =>
    \A f \in Fates : f[1] = t.txn => f[2] # "Abort"

(* A transaction whose abort was acknowledged is committed in no partition, *)
(* so no reader of committed data sees it. Misses: a batch that is visible  *)
(* before its marker (see ReadersSeeCommitted).                             *)
AbortedInvisible ==
  \A t \in told : t.decision = "Abort" =>
    \A f \in Fates : f[1] = t.txn => f[2] # "Commit"

(* A committed transaction had a request to commit it. Misses: a request of *)
(* an instance that was replaced meanwhile.                                 *)
CommitWasAsked ==
  \A f \in Fates : f[2] = "Commit" =>
    \E m \in network : m.type = "EndTxn" /\ m.txn = f[1] /\ m.decision = "Commit"

(* The decision of a marker was committed before the marker was appended.   *)
(* Misses: a marker of an earlier decision that arrives in a later epoch of *)
(* the same number.                                                         *)
DecidedBeforeMarked ==
  \A p \in Partitions : \A i \in Markers(p) :
    LET marker == partitions[p].log[i] IN
    \E d \in decided : d.state = PrepareOf(marker.decision) /\ d.epoch = marker.epoch

(* With an epoch for each transaction, all markers, Complete records and    *)
(* responses of an epoch have one decision. Misses: version 1, in which     *)
(* transactions share an epoch.                                             *)
OneDecision ==
  Version = 2 =>
    LET completed == {<<d.epoch, DecisionIs(d.state)>> :
                        d \in {d \in decided : d.state \in {"CompleteCommit", "CompleteAbort"}}}
        markers == UNION {{<<partitions[p].log[i].epoch, partitions[p].log[i].decision>> :
                             i \in Markers(p)} : p \in Partitions}
        answered == {<<t.epoch, t.decision>> : t \in told}
        all == completed \cup markers \cup answered
    IN \A one \in all, other \in all : one[1] = other[1] => one[2] = other[2]

(* All committed Prepare records of an epoch have one decision. This holds  *)
(* only if no append is given up (X3); otherwise a second record overrules  *)
(* the first. Misses: version 1, and runs in which an append is given up.   *)
OnePreparedDecision ==
  Version = 2 =>
    \A one \in decided, other \in decided :
      one.epoch = other.epoch => DecisionIs(one.state) = DecisionIs(other.state)

(* When a Complete record is committed, each partition of the transaction   *)
(* has its marker. Misses: a missing marker of a transaction without a      *)
(* Complete record.                                                         *)
LogMatchesMarkers ==
  \A d \in decided : d.state \in {"CompleteCommit", "CompleteAbort"} =>
    \E prepared \in decided :
      /\ prepared.state = PrepareOf(DecisionIs(d.state))
      /\ prepared.epoch = d.epoch \/ (IsFirstOfId(d.epoch) /\ prepared.epoch = d.epoch - 1)
      /\ \A p \in prepared.partitions : \E i \in Markers(p) :
           /\ partitions[p].log[i].epoch = prepared.epoch
           /\ partitions[p].log[i].decision = DecisionIs(d.state)

(* A batch that a replaced instance appends is never committed. Misses: a   *)
(* batch that was appended before the new instance received its epoch.      *)
ZombieCommitsNothing == \A f \in Fates : <<f[3], f[1]>> \in late => f[2] # "Commit"

(* A producer's batch is in a log at most once, and its committed batches   *)
(* are in the order of sending. Copies of offsets are allowed, because they *)
(* are harmless. Misses: a batch that never arrives (see CommitIsWhole and  *)
(* NoGaps).                                                                 *)
ExactlyOnceAppend ==
  \A p \in Partitions \ Offsets : \A i, j \in Batches(p) :
    LET one == partitions[p].log[i]
        other == partitions[p].log[j]
    IN /\ one.txn = other.txn /\ one.sequence = other.sequence => i = j
       /\ (/\ i < j /\ one.client = other.client
           /\ \A b \in {one, other} :
                \E t \in told : t.txn = b.txn /\ t.decision = "Commit")
          => one.txn < other.txn \/ (one.txn = other.txn /\ one.sequence < other.sequence)

GapFree ==
  \A p \in Partitions \ Offsets : \A i \in Batches(p) :
    LET one == partitions[p].log[i] IN
    one.sequence > 0 =>
      \E j \in Batches(p) : /\ j < i /\ partitions[p].log[j].epoch = one.epoch
                            /\ partitions[p].log[j].sequence = one.sequence - 1
(* With version 2 no batch is in a log without its predecessor, so no batch *)
(* is mistaken for a copy. With version 1 a partition without state of the  *)
(* producer accepts any batch. Misses: version 1.                           *)
NoGaps == Version = 2 => GapFree

(* The offsets that a group receives belong to a committed transaction, and *)
(* without pending ones to the last committed transaction. Misses: offsets  *)
(* that are returned late because others are pending.                       *)
OffsetsAtomicWithRecords ==
  \A p \in Offsets :
    LET shown == partitions[p].offsets.committed
        nothing == [txn |-> 0, sequence |-> -1]
        sentAs(i) == [txn |-> partitions[p].log[i].txn,
                      sequence |-> partitions[p].log[i].sequence]
        done == {i \in Batches(p) : Fate(p, i) = "Commit"}
    IN /\ shown # nothing => \E i \in done : sentAs(i) = shown
       /\ \A f \in Fates : f[1] = shown.txn => f[2] # "Abort"
       /\ partitions[p].offsets.pending = nothing /\ done # {} =>
            sentAs(CHOOSE i \in done : \A j \in done : j <= i) = shown

(* Offsets never replace offsets that the same producer sent later, so no   *)
(* input is consumed twice. Misses: offsets of several producers.           *)
ExactlyOnceInputs ==
  \A p \in Offsets : \A i, j \in Batches(p) :
    LET one == partitions[p].log[i]
        other == partitions[p].log[j]
    IN (/\ i < j /\ one.client = other.client
        /\ Fate(p, i) # "Abort" /\ Fate(p, j) # "Abort") =>
         \/ one.txn < other.txn
         \/ one.txn = other.txn /\ one.sequence <= other.sequence

(* If a partition has an open transaction, its active coordinator knows     *)
(* that, and will end it. Misses: whether it does end, and anything while   *)
(* the coordinator loads.                                                   *)
NoHanging ==
  LET row == coordinators[leaderEpoch] IN
  row.active =>
    \A p \in Partitions : partitions[p].producer.open =>
      /\ row.txn.state \in {"Ongoing", "PrepareCommit", "PrepareAbort"}
      /\ p \in row.txn.partitions

(* No client has the last epoch of a producer id, and no transaction ends   *)
(* with an epoch of the next id. With version 1 the first epoch of an id    *)
(* ends the transactions of the client that received it. Misses: a next id  *)
(* that another producer has.                                               *)
EpochsInBounds ==
  /\ \A c \in Clients : ~IsLastOfId(clients[c].epoch)
  /\ \A d \in decided :
       d.state \in {"PrepareCommit", "PrepareAbort"} =>
         ~IsFirstOfId(d.epoch) \/ (Version = 1 /\ d.epoch <= handedOut)

(* A fenced producer was replaced, or its coordinator aborted its           *)
(* transaction. With version 1, a coordinator that moved or that has        *)
(* forgotten the id does not recognize a repeated request (KAFKA-20357). A  *)
(* fence counts from when it is written (X8). Misses: version 1, if the     *)
(* coordinator moved or ids expire.                                         *)
FencedByOthers ==
  \A c \in Clients : clients[c].status = "Fenced" =>
    \/ \E other \in Clients \ {c} : clients[other].status # "Off"
    \/ Version = 1 /\ (leaderEpoch > 1 \/ IdsExpire)
    \/ \E d \in decided \cup {DecisionIn(r) : r \in RecordsIn(log.leader)} :
         /\ d.state = "PrepareAbort"
         /\ ~\E m \in network : /\ m.type = "EndTxn" /\ m.decision = "Abort"
                               /\ m.epoch = IF Version = 2 THEN d.epoch - 1 ELSE d.epoch

(* With version 2 no request to end a transaction is refused because of the *)
(* transaction's state. Misses: version 1, and refused offsets.             *)
EndNotRefused ==
  \A c \in Clients :
    Version = 2 /\ clients[c].decision # "None" => clients[c].status # "Failed"

(* No two instances have one epoch. Misses: instances that have not         *)
(* received their epoch yet.                                                *)
EpochHeldOnce ==
  \A c, d \in Clients :
    (/\ c # d
     /\ {clients[c].status, clients[d].status} \subseteq
          {"Ready", "Open", "Ending", "Abortable", "Recovering"})
      => clients[c].epoch # clients[d].epoch

(* Everything below the last stable offset is committed, and its decision   *)
(* too (X17). Misses: partitions with one replica, and an offset that is    *)
(* smaller than possible.                                                   *)
LsoBounds ==
  \A p \in {p \in Partitions : HasFollower(p)} :
    LET kept == partitions[p].follower.log
        stable == partitions[p].follower.stable
    IN /\ stable <= Len(kept)
       /\ \A i \in 1..stable :
            kept[i].kind = "Batch" => \E j \in i..Len(kept) : kept[j].kind = "Marker"

(* The records that no change of leaders removes.                           *)
KeptIn(p) == IF HasFollower(p) THEN partitions[p].follower.log ELSE partitions[p].log
FateIn(records, i) ==
  LET after == {j \in i..Len(records) : records[j].kind = "Marker"}
  IN IF after = {} THEN "None"
     ELSE records[CHOOSE j \in after : \A k \in after : j <= k].decision


(* The pending transition of the active coordinator is the last record of   *)
(* its log, or not written yet. Misses: pending transitions of a replaced   *)
(* coordinator.                                                             *)
PendingIsLocal ==
  LET pending == Current.pending IN
  IF pending.logged
  THEN LastOf(log) = [state |-> pending.state, epoch |-> pending.epoch,
                      partitions |-> pending.partitions, leaderEpoch |-> leaderEpoch]
  ELSE \/ pending = NothingPending
       \/ pending.state = "PrepareEpochFence" /\ Current.txn.state = "Ongoing"
       \/ /\ pending.state \in {"CompleteCommit", "CompleteAbort"}
          /\ Current.txn.state = PrepareOf(DecisionIs(pending.state))

(* A read_committed reader has seen exactly the committed batches before    *)
(* its position, and all of them are decided (X18). Misses: a batch with    *)
(* another decision in another partition.                                   *)
ReadersSeeCommitted ==
  \A r \in ReadCommitted : \A p \in Partitions :
    LET kept == KeptIn(p)
        read == readers[r].read[p]
    IN /\ read.position <= Len(kept)
       /\ \A i \in 1..read.position : kept[i].kind = "Batch" =>
            /\ FateIn(kept, i) # "None"
            /\ i \in read.shown <=> FateIn(kept, i) = "Commit"

(* A read_uncommitted reader has seen all batches before its position, and  *)
(* only records that every leader has (X18). Misses: partitions with one    *)
(* replica, which commit at once.                                           *)
ReadersSeeAll ==
  \A r \in ReadUncommitted : \A p \in Partitions :
    LET kept == KeptIn(p)
        read == readers[r].read[p]
    IN /\ read.position <= Len(kept)
       /\ \A i \in 1..read.position : kept[i].kind = "Batch" <=> i \in read.shown

-----------------------------------------------------------------------------
(* Properties of steps.                                                     *)

ProducerIn(row) == IF row.follower.type = "None" THEN row.producer ELSE row.follower.producer
(* Epochs never decrease in the transaction log, nor in the committed part  *)
(* of a partition. Misses: an epoch that should have increased.             *)
EpochMonotonicStep ==
  /\ log'.committed.epoch >= log.committed.epoch
  /\ \A p \in Partitions :
       LET before == ProducerIn(partitions[p])
           after == ProducerIn(partitions'[p])
       IN after.epoch >= before.epoch /\ after.coordinatorEpoch >= before.coordinatorEpoch
EpochMonotonic == [][EpochMonotonicStep]_vars

(* After a response to InitProducerId, no older instance can add a          *)
(* partition or end a transaction. Misses: requests that change nothing at  *)
(* the coordinator, and appends of the older instance to partitions.        *)
ZombieFencedStep ==
  LET before == coordinators[leaderEpoch].pending
      after == coordinators'[leaderEpoch].pending
  IN after # before /\ after.request.type \in {"AddPartitions", "EndTxn"} =>
       after.request.epoch >= handedOut
ZombieFenced == [][ZombieFencedStep]_vars

(* A guard ends with an appended batch or with a marker of a larger epoch,  *)
(* so no marker takes the guard of a later transaction. Misses: version 1,  *)
(* partitions with two replicas (a guard ends with its leader), and a guard *)
(* that ends with a late batch of an earlier transaction.                   *)
GuardKeptStep ==
  Version = 2 /\ Replicas = 1 =>
    \A p \in Partitions :
      (/\ partitions[p].guard # -1 /\ partitions'[p].guard = -1
       /\ ~(AppendedTo(p) /\ LastIn(p).kind = "Batch")) =>
        partitions'[p].producer.epoch > partitions[p].guard
GuardKept == [][GuardKeptStep]_vars

(* A new leader never has a smaller last stable offset than an earlier one  *)
(* (X17). Misses: partitions with one replica.                              *)
LsoMonotonicStep ==
  \A p \in {p \in Partitions : HasFollower(p)} :
    partitions'[p].follower.stable >= partitions[p].follower.stable
LsoMonotonic == [][LsoMonotonicStep]_vars

(* When a commit is acknowledged, the logs have everything that the         *)
(* producer sent in the transaction (X32). Misses: all offsets of a         *)
(* transaction except one.                                                  *)
CommitIsWholeStep ==
  \A c \in Clients :
    (/\ clients[c].status = "Ending" /\ clients[c].decision = "Commit"
     /\ clients'[c].status = "Ready") =>
      \A p \in clients[c].sent :
        /\ \E i \in Batches(p) : partitions[p].log[i].txn = clients[c].txn
        /\ Version = 2 /\ p \notin Offsets =>
             \A sequence \in 0..(clients[c].sequences[p] - 1) : \E i \in Batches(p) :
               /\ partitions[p].log[i].txn = clients[c].txn
               /\ partitions[p].log[i].sequence = sequence
CommitIsWhole == [][CommitIsWholeStep]_vars

(* A transaction that a sweep aborts is the one that the sweep has listed   *)
(* (X26). Misses: version 1, in which transactions share an epoch.          *)
AbortedIsListedStep ==
  LET before == coordinators[leaderEpoch]
      after == coordinators'[leaderEpoch]
  IN (/\ before.listed # -1 /\ after.listed = -1
      /\ before.pending.state = "None" /\ after.pending.state = "PrepareEpochFence")
     => before.txn.epoch = before.listed
AbortedIsListed == [][AbortedIsListedStep]_vars
=============================================================================
