------------------------ MODULE TransactionProperties ------------------------
(***************************************************************************)
(* What transactions promise, as named properties, and the history that     *)
(* they need.  Law of this file: no decision of TransactionRules is used.   *)
(*                                                                          *)
(* The fate of a batch is the type of the first marker after it in its      *)
(* partition, "None" while there is none.                                   *)
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
(* Words.                                                                   *)

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
(* Each producer id has MaxEpoch + 1 epochs to give, and one that it ends   *)
(* with.                                                                    *)
IsFirstOfId(epoch) == epoch % (MaxEpoch + 2) = 0
IsLastOfId(epoch) == epoch % (MaxEpoch + 2) = MaxEpoch + 1

DecisionIs(state) == IF state \in {"PrepareCommit", "CompleteCommit"} THEN "Commit" ELSE "Abort"

-----------------------------------------------------------------------------
(* Types.                                                                   *)

Epochs == -1..20
TxnStates == {"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit",
              "CompleteAbort", "Dead"}

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

(* T: what a partition knows of its producer is what its log says.          *)
ProducerStateIsOfLog ==
  \A p \in Partitions :
    LET records == partitions[p].log
        known == partitions[p].producer
        last == records[Len(records)]
    IN IF records = <<>> THEN known.epoch = -1 /\ ~known.open
       ELSE known.epoch = last.epoch /\ known.open = (last.kind = "Batch")

-----------------------------------------------------------------------------
(* Safety.                                                                  *)

(* No transaction is committed in one place and aborted in another.         *)
TxnAtomic ==
  \A one \in Fates, other \in Fates :
    one[1] = other[1] => ~(one[2] = "Commit" /\ other[2] = "Abort")

(* What a producer was told is committed is aborted nowhere.                *)
AckedCommit ==
  \A t \in told : t.decision = "Commit" =>
    \A f \in Fates : f[1] = t.txn => f[2] # "Abort"

(* A reader of committed data never sees a batch of a transaction whose     *)
(* producer was told that it is aborted.                                    *)
AbortedInvisible ==
  \A t \in told : t.decision = "Abort" =>
    \A f \in Fates : f[1] = t.txn => f[2] # "Commit"

(* Nor one of a transaction that nobody asked to commit.                    *)
CommitWasAsked ==
  \A f \in Fates : f[2] = "Commit" =>
    \E m \in network : m.type = "EndTxn" /\ m.txn = f[1] /\ m.decision = "Commit"

(* A marker is in a log only if its decision is committed before.           *)
DecidedBeforeMarked ==
  \A p \in Partitions : \A i \in Markers(p) :
    LET marker == partitions[p].log[i] IN
    \E d \in decided : d.state = PrepareOf(marker.decision) /\ d.epoch = marker.epoch

(* With an epoch for each transaction there is one decision for an epoch in *)
(* all that anybody can see: markers, Complete records, answers.            *)
OneDecision ==
  Version = 2 =>
    LET completed == {<<d.epoch, DecisionIs(d.state)>> :
                        d \in {d \in decided : d.state \in {"CompleteCommit", "CompleteAbort"}}}
        markers == UNION {{<<partitions[p].log[i].epoch, partitions[p].log[i].decision>> :
                             i \in Markers(p)} : p \in Partitions}
        answered == {<<t.epoch, t.decision>> : t \in told}
        all == completed \cup markers \cup answered
    IN \A one \in all, other \in all : one[1] = other[1] => one[2] = other[2]

(* ... and one among the Prepare records that are committed.  This holds    *)
(* only where no append is given up (X3): else a second one overrules it.   *)
OnePreparedDecision ==
  Version = 2 =>
    \A one \in decided, other \in decided :
      one.epoch = other.epoch => DecisionIs(one.state) = DecisionIs(other.state)

(* A transaction is complete only when each of its partitions has a marker. *)
LogMatchesMarkers ==
  \A d \in decided : d.state \in {"CompleteCommit", "CompleteAbort"} =>
    \E prepared \in decided :
      /\ prepared.state = PrepareOf(DecisionIs(d.state))
      /\ prepared.epoch = d.epoch \/ (IsFirstOfId(d.epoch) /\ prepared.epoch = d.epoch - 1)
      /\ \A p \in prepared.partitions : \E i \in Markers(p) :
           /\ partitions[p].log[i].epoch = prepared.epoch
           /\ partitions[p].log[i].decision = DecisionIs(d.state)

(* An instance that a newer one has replaced commits nothing any more.      *)
ZombieCommitsNothing == \A f \in Fates : <<f[3], f[1]>> \in late => f[2] # "Commit"

(* A producer's batch is once in its partition's log, and committed batches *)
(* of one producer stand there in the order in which they were sent.        *)
(* Copies of offsets do no harm by themselves.                              *)
ExactlyOnceAppend ==
  \A p \in Partitions \ Offsets : \A i, j \in Batches(p) :
    LET one == partitions[p].log[i]
        other == partitions[p].log[j]
    IN /\ one.txn = other.txn /\ one.sequence = other.sequence => i = j
       /\ (/\ i < j /\ one.client = other.client
           /\ \A b \in {one, other} :
                \E t \in told : t.txn = b.txn /\ t.decision = "Commit")
          => one.txn < other.txn \/ (one.txn = other.txn /\ one.sequence < other.sequence)

(* No batch is in a log without that before it, so that none is taken for a *)
(* copy that is not there.  With version 1 a partition that knows nothing   *)
(* of the producer takes any batch for the next one.                        *)
GapFree ==
  \A p \in Partitions \ Offsets : \A i \in Batches(p) :
    LET one == partitions[p].log[i] IN
    one.sequence > 0 =>
      \E j \in Batches(p) : /\ j < i /\ partitions[p].log[j].epoch = one.epoch
                            /\ partitions[p].log[j].sequence = one.sequence - 1
NoGaps == Version = 2 => GapFree

(* The offsets that a group is told are of a transaction that is committed, *)
(* wherever else it wrote; when none are pending, of the last one that is.  *)
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

(* No offsets take the place of those that their producer sent later, so    *)
(* that no input is consumed twice.                                         *)
ExactlyOnceInputs ==
  \A p \in Offsets : \A i, j \in Batches(p) :
    LET one == partitions[p].log[i]
        other == partitions[p].log[j]
    IN (/\ i < j /\ one.client = other.client
        /\ Fate(p, i) # "Abort" /\ Fate(p, j) # "Abort") =>
         \/ one.txn < other.txn
         \/ one.txn = other.txn /\ one.sequence <= other.sequence

(* What is open in a partition, its coordinator knows of, and will end.     *)
NoHanging ==
  LET row == coordinators[leaderEpoch] IN
  row.active =>
    \A p \in Partitions : partitions[p].producer.open =>
      /\ row.txn.state \in {"Ongoing", "PrepareCommit", "PrepareAbort"}
      /\ p \in row.txn.partitions

(* The last epoch of a producer id is given to nobody, and no transaction   *)
(* is ended with a number of the next id: with version 1 the first one of   *)
(* an id ends the transactions of who was given it.                         *)
EpochsInBounds ==
  /\ \A c \in Clients : ~IsLastOfId(clients[c].epoch)
  /\ \A d \in decided :
       d.state \in {"PrepareCommit", "PrepareAbort"} =>
         ~IsFirstOfId(d.epoch) \/ (Version = 1 /\ d.epoch <= handedOut)

(* Who is told that it is fenced was replaced, or its coordinator has       *)
(* aborted its transaction by itself.  With version 1 another coordinator,  *)
(* and one that has forgotten the id, does not know a request for an epoch  *)
(* again (KAFKA-20357); and a fence counts from when it is written (X8).    *)
FencedByOthers ==
  \A c \in Clients : clients[c].status = "Fenced" =>
    \/ \E other \in Clients \ {c} : clients[other].status # "Off"
    \/ Version = 1 /\ (leaderEpoch > 1 \/ IdsExpire)
    \/ \E d \in decided \cup {DecisionIn(r) : r \in RecordsIn(log.leader)} :
         /\ d.state = "PrepareAbort"
         /\ ~\E m \in network : /\ m.type = "EndTxn" /\ m.decision = "Abort"
                               /\ m.epoch = IF Version = 2 THEN d.epoch - 1 ELSE d.epoch

(* No producer ends its transaction as the state of it does not allow, so   *)
(* none is told so.                                                         *)
EndNotRefused ==
  \A c \in Clients :
    Version = 2 /\ clients[c].decision # "None" => clients[c].status # "Failed"

(* No two instances hold one epoch.                                         *)
EpochHeldOnce ==
  \A c, d \in Clients :
    (/\ c # d
     /\ {clients[c].status, clients[d].status} \subseteq
          {"Ready", "Open", "Ending", "Abortable", "Recovering"})
      => clients[c].epoch # clients[d].epoch

(* X17.  What is shown is committed, and decided by what is committed.      *)
LsoBounds ==
  \A p \in {p \in Partitions : HasFollower(p)} :
    LET kept == partitions[p].follower.log
        stable == partitions[p].follower.stable
    IN /\ stable <= Len(kept)
       /\ \A i \in 1..stable :
            kept[i].kind = "Batch" => \E j \in i..Len(kept) : kept[j].kind = "Marker"

(* What no change of leaders takes back.                                    *)
KeptIn(p) == IF HasFollower(p) THEN partitions[p].follower.log ELSE partitions[p].log
FateIn(records, i) ==
  LET after == {j \in i..Len(records) : records[j].kind = "Marker"}
  IN IF after = {} THEN "None"
     ELSE records[CHOOSE j \in after : \A k \in after : j <= k].decision

(* What a coordinator has begun is what it has written, or will write.      *)

PendingIsLocal ==
  LET pending == Current.pending IN
  IF pending.logged
  THEN LastOf(log) = [state |-> pending.state, epoch |-> pending.epoch,
                      partitions |-> pending.partitions, leaderEpoch |-> leaderEpoch]
  ELSE \/ pending = NothingPending
       \/ pending.state = "PrepareEpochFence" /\ Current.txn.state = "Ongoing"
       \/ /\ pending.state \in {"CompleteCommit", "CompleteAbort"}
          /\ Current.txn.state = PrepareOf(DecisionIs(pending.state))

(* X18.  Who reads what is committed is shown it, and gets past nothing     *)
(* that is not decided.                                                     *)
ReadersSeeCommitted ==
  \A r \in ReadCommitted : \A p \in Partitions :
    LET kept == KeptIn(p)
        read == readers[r].read[p]
    IN /\ read.position <= Len(kept)
       /\ \A i \in 1..read.position : kept[i].kind = "Batch" =>
            /\ FateIn(kept, i) # "None"
            /\ i \in read.shown <=> FateIn(kept, i) = "Commit"

(* X18.  Other readers are shown all, and nothing that another leader may   *)
(* not have.                                                                *)
ReadersSeeAll ==
  \A r \in ReadUncommitted : \A p \in Partitions :
    LET kept == KeptIn(p)
        read == readers[r].read[p]
    IN /\ read.position <= Len(kept)
       /\ \A i \in 1..read.position : kept[i].kind = "Batch" <=> i \in read.shown

-----------------------------------------------------------------------------
(* Properties of steps.                                                     *)

(* Epochs never go back: not in the transaction log, not in what is         *)
(* committed in a partition.                                                *)
ProducerIn(row) == IF row.follower.type = "None" THEN row.producer ELSE row.follower.producer
EpochMonotonicStep ==
  /\ log'.committed.epoch >= log.committed.epoch
  /\ \A p \in Partitions :
       LET before == ProducerIn(partitions[p])
           after == ProducerIn(partitions'[p])
       IN after.epoch >= before.epoch /\ after.coordinatorEpoch >= before.coordinatorEpoch
EpochMonotonic == [][EpochMonotonicStep]_vars

(* Once InitProducerId was answered, no older instance has a partition      *)
(* added or a transaction ended.                                            *)
ZombieFencedStep ==
  LET before == coordinators[leaderEpoch].pending
      after == coordinators'[leaderEpoch].pending
  IN after # before /\ after.request.type \in {"AddPartitions", "EndTxn"} =>
       after.request.epoch >= handedOut
ZombieFenced == [][ZombieFencedStep]_vars

(* A guard goes with a batch that is appended, or with a marker of a larger *)
(* epoch: none takes the guard of a later transaction.  With a leader goes  *)
(* every guard.                                                             *)
GuardKeptStep ==
  Version = 2 /\ Replicas = 1 =>
    \A p \in Partitions :
      (/\ partitions[p].guard # -1 /\ partitions'[p].guard = -1
       /\ ~(AppendedTo(p) /\ LastIn(p).kind = "Batch")) =>
        partitions'[p].producer.epoch > partitions[p].guard
GuardKept == [][GuardKeptStep]_vars

(* X17.  No leader shows less than an earlier one has shown.                *)
LsoMonotonicStep ==
  \A p \in {p \in Partitions : HasFollower(p)} :
    partitions'[p].follower.stable >= partitions[p].follower.stable
LsoMonotonic == [][LsoMonotonicStep]_vars

(* X32.  What a producer is told is committed is all that it sent.          *)
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

(* X26.  What a sweep has listed, and aborts, is what was listed.           *)
AbortedIsListedStep ==
  LET before == coordinators[leaderEpoch]
      after == coordinators'[leaderEpoch]
  IN (/\ before.listed # -1 /\ after.listed = -1
      /\ before.pending.state = "None" /\ after.pending.state = "PrepareEpochFence")
     => before.txn.epoch = before.listed
AbortedIsListed == [][AbortedIsListedStep]_vars
=============================================================================
