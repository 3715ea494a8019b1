--------------------------- MODULE MCGroupCommits ---------------------------
(***************************************************************************)
(* A group whose members commit offsets, within bounds.                     *)
(***************************************************************************)
EXTENDS GroupCommitsProperties

CONSTANTS
  MaxEpoch,      \* of the group
  MaxTimeouts,   \* answers that are lost
  MaxExpiries    \* sessions that time out

VARIABLE spent

mcVars == <<commitVars, spent>>

Symmetry == Permutations(Members) \cup Permutations(Partitions \ {Watched})

MCInit == CommitsInit /\ spent = [timeouts |-> 0, expiries |-> 0]

(* Of membership: nothing of it touches a commit in flight.                 *)
Free(Action) == WithPositions(Action) /\ UNCHANGED <<commit, spent>>
Paid(what, most, Action) ==
  /\ spent[what] < most /\ WithPositions(Action) /\ UNCHANGED commit
  /\ spent' = [spent EXCEPT ![what] = @ + 1]

MemberActions(n) ==
  \/ Free(SendGroupHeartbeat(n))
  \/ Free(StartReconciliation(n)) \/ Free(CompleteReconciliation(n))
  \/ Paid("timeouts", MaxTimeouts, HeartbeatTimeout(n))
  \/ HearOffset(n) /\ UNCHANGED spent
  \/ \E offset \in 1..MaxOffset : AskCommit(n, offset) /\ UNCHANGED spent

MCNext ==
  \/ \E n \in Members : MemberActions(n)
  \/ \E m \in network : Free(HearAnswer(m))
  \/ \E n \in Members : Paid("expiries", MaxExpiries, GroupSessionTimeout(n))
  \/ HandleCommit /\ UNCHANGED spent
  \/ \E tail \in coordinator.log.tails : FailOver(tail) /\ UNCHANGED spent

MCSpec == MCInit /\ [][MCNext]_mcVars

(* A bound: what has made a later epoch is not followed.                    *)
WithinEpochs == Now(coordinator).epoch <= MaxEpoch

(* What must be reached: an earlier epoch's commit is accepted (KIP-1251);  *)
(* a commit is lost with its coordinator.                                   *)
NoEarlierEpochProbe ==
  [][IsCommitted => commit.epoch = Now(coordinator).members[commit.member].epoch]_mcVars
NoLostCommitProbe ==
  [][IsFailOver /\ commit.state = "Appended"
       => Now(coordinator').offset = Now(coordinator).offset]_mcVars

(* Twins, in which a property fails: the epoch of the moment in which a     *)
(* commit is sent; an answer before it is committed; everybody begins with  *)
(* the first record; any earlier epoch is accepted.                         *)
Restamped(row, request) == row.epoch
AtOnce(row) == TRUE
FromTheFirst(group) == 0
AnyEarlierEpoch(group, member, epoch) == epoch <= member.epoch
=============================================================================
