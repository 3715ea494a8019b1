-------------------------- MODULE MCPartitionProbes --------------------------
(***************************************************************************)
(* What the reduced composition of a partition must reach: each of these    *)
(* must be violated, or else the bounds were bought with a constraint.      *)
(***************************************************************************)
EXTENDS MCPartitionReduced

NothingCommittedProbe == committed = <<>>
OneEpochCommittedProbe ==
  \A i, j \in 1..Len(committed) : committed[i].epoch = committed[j].epoch
NoLeaderChangeProbe == controller.partition.leaderEpoch = 1
NoShrinkProbe == controller.partition.isr = Brokers
NoElrProbe == controller.partition.elr = {}
NoUncleanRestartProbe == \A n \in Brokers : rows[n].brokerEpoch <= 0
NoUncleanElectionProbe == ~controller.partition.recovering
NoTwoLeadersProbe == Cardinality({n \in Brokers : IsLeader(rows[n])}) <= 1
NoFencedLeaderProbe ==
  \A n \in Brokers : IsLeader(rows[n]) => ~controller.registrations[n].fenced
NoRefusalProbe == \A n \in Brokers : ~rows[n].pending.refused

(* A leader that does not know yet what is committed (P8).                  *)
NoLaggingLeaderProbe ==
  \A n \in Brokers : IsLeader(rows[n]) => rows[n].highWatermark >= rows[n].epochStart

Crashing == spent'.crashes # spent.crashes

NoTruncationProbe ==
  [][Crashing \/ \A n \in Brokers : Len(rows'[n].log) >= Len(rows[n].log)]_mcVars

(* The abstract log keeps its records through it.                           *)
NoTruncationAfterCommitProbe ==
  [][\/ Crashing \/ committed = <<>>
     \/ \A n \in Brokers : Len(rows'[n].log) >= Len(rows[n].log)]_mcVars

NoLossProbe ==
  [][Crashing => \A n \in Brokers : Len(rows'[n].log) >= Len(rows[n].log)]_mcVars

NoExpansionProbe ==
  [][\A b \in controller'.partition.isr : b \in controller.partition.isr]_mcVars

NoElectionFromElrProbe ==
  [][controller'.partition.leader \notin controller.partition.elr]_mcVars

(* P7: a follower learns a lower high watermark from a new leader.          *)
NoLowerHighWatermarkProbe ==
  [][Crashing \/ \A n \in Brokers : rows'[n].highWatermark >= rows[n].highWatermark]_mcVars

(* P1: several changes read as one.                                         *)
NoFoldingProbe ==
  [][\A n \in Brokers : Len(metadata[n]) >= 2 => metadata'[n] # <<>>]_mcVars
==============================================================================
