------------------------ MODULE MCTransactionProbes -------------------------
(***************************************************************************)
(* What the models of transactions must reach: each of these must be        *)
(* violated, or else the bounds were bought with a constraint.              *)
(***************************************************************************)
EXTENDS MCTransactions

CommitsTold == {t \in told : t.decision = "Commit"}
NoCommitProbe == CommitsTold = {}
NoSecondCommitProbe == Cardinality(CommitsTold) < 2
NoAbortProbe == \A t \in told : t.decision # "Abort"

(* The coordinator aborts without a request.                                *)
NoTimeoutAbortProbe ==
  \A d \in decided : d.state = "PrepareAbort" =>
    \E m \in network : m.type = "EndTxn" /\ m.decision = "Abort"

(* A producer takes the epoch that the coordinator's abort made.            *)
NoAdoptedEpochProbe ==
  \A t \in told : t.decision = "Abort" =>
    \E m \in network : m.type = "EndTxn" /\ m.txn = t.txn /\ t.epoch = m.epoch + 1
                      /\ spent.timeouts = 0

(* A coordinator finds a decision in the log, and sends its markers.        *)
NoLoadedDecisionProbe ==
  \A n \in 2..MaxCoordinators : coordinators[n].toMark = {}

(* An election drops what the last leader had appended.                     *)
NoLostTailProbe ==
  [][leaderEpoch' > leaderEpoch => Len(log'.leader) >= Len(log.leader)]_mcVars

(* An election brings back what an earlier leader had appended, and the     *)
(* last one never saw.                                                      *)
NoOldTailProbe ==
  \A i \in 1..Len(log.leader) : log.leader[i].leaderEpoch >= leaderEpoch - 1

(* A marker of a coordinator that was replaced may still arrive.            *)
NoMarkerOfDeposedProbe ==
  \A m \in network : m.type = "WriteTxnMarkers" =>
    m.coordinatorEpoch >= partitions[m.partition].producer.coordinatorEpoch

(* A marker is gone with the leader that had it.                            *)
NoLostMarkerProbe ==
  [][\A p \in Partitions :
       \A i \in Markers(p) : \E j \in 1..Len(partitions'[p].log) :
         partitions'[p].log[j] = partitions[p].log[i]]_mcVars

(* A verified batch comes after a marker has taken its guard away.          *)
NoOutdatedGuardProbe ==
  \A p \in Partitions : \A v \in partitions[p].verifying : v.answered => v.guarded

(* The second offset of a transaction is returned.                          *)
NoSecondOffsetsProbe ==
  \A p \in Offsets : partitions[p].offsets.committed.sequence < 1

(* A newer instance commits.                                                *)
NoNewInstanceProbe ==
  \A t \in CommitsTold : \E m \in network :
    m.type = "EndTxn" /\ m.txn = t.txn /\ m.client = 1

(* A producer continues with the next producer id.                          *)
NoNextProducerIdProbe == \A c \in Clients : clients[c].epoch < EpochsOfId

(* A marker waits for a leader.                                             *)
NoWaitingMarkerProbe ==
  \A n \in 1..MaxCoordinators : coordinators[n].toMark \cap leaderless = {}

(* A producer has another epoch after an error (version 1).                 *)
NoBumpProbe ==
  [][\A c \in Clients : ~(clients[c].status = "Bumping" /\ clients'[c].status = "Ready")]_mcVars

(* A producer receives again the epoch of a lost response.                  *)
NoRepeatedBumpProbe ==
  [][\A c \in Clients :
       ~(/\ clients[c].status = "Bumping" /\ clients'[c].status = "Ready"
         /\ clients'[c].epoch = Current.txn.epoch)]_mcVars

(* A producer is unusable, as its offsets came without their guard.         *)
NoOffsetsFailedProbe == \A c \in Clients : clients[c].status # "Failed"

(* A producer gets the error that it is fenced.                             *)
NoFencedProbe == \A c \in Clients : clients[c].status # "Fenced"

(* A producer commits after a transaction of which it gave up a batch.      *)
NoRecoveredProbe ==
  \A t \in CommitsTold : spent.givenUp = 0 \/ ~\E u \in told : u.decision = "Abort" /\ u.txn < t.txn

(* An id comes back after it was forgotten; no producer id is exhausted.    *)
NoReturnProbe == \A c \in Clients : clients[c].epoch < EpochsOfId

(* A producer learns that its id was forgotten.                             *)
NoExpiredProbe == \A c \in Clients : clients[c].status # "Unusable"

(* A reader of committed records drops one.                                 *)
NoDroppedProbe ==
  \A r \in ReadCommitted : \A p \in Partitions :
    \A i \in 1..readers[r].read[p].position :
      partitions[p].log[i].kind = "Batch" => i \in readers[r].read[p].shown
=============================================================================
