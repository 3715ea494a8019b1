--------------------------- MODULE MCGroupCommits ---------------------------
(***************************************************************************)
(* A group whose members commit offsets, within bounds.                     *)
(***************************************************************************)
EXTENDS GroupCommitsProperties

CONSTANTS
  MaxOffset,     \* of the partition's records
  MaxEpoch,      \* of the group
  MaxTimeouts,   \* answers that are lost
  MaxExpiries    \* sessions that time out

VARIABLE spent

mcVars == <<vars, spent>>

Symmetry == Permutations(Members) \cup Permutations(Partitions \ {Followed})

MCInit == CommitsInit /\ spent = [timeouts |-> 0, expiries |-> 0]

Free(Action) == Action /\ UNCHANGED spent
Paid(what, most, Action) ==
  /\ spent[what] < most /\ Action
  /\ spent' = [spent EXCEPT ![what] = @ + 1]

MemberActions(n) ==
  \/ Free(SendGroupHeartbeat(n))
  \/ Free(StartReconciliation(n)) \/ Free(CompleteReconciliation(n))
  \/ Paid("timeouts", MaxTimeouts, HeartbeatTimeout(n))
  \/ Free(AskOffset(n)) \/ Free(CommitOffsets(n))
  \/ \E offset \in 1..MaxOffset : Free(RequestCommit(n, offset))

MCNext ==
  \/ \E n \in Members : MemberActions(n)
  \/ \E m \in network : Free(HearAnswer(m))
  \/ \E n \in Members : Paid("expiries", MaxExpiries, GroupSessionTimeout(n))
  \/ \E tail \in coordinator.log.tails : Free(FailOver(tail))

MCSpec == MCInit /\ [][MCNext]_mcVars

(* A bound: what has made a later epoch is not followed.                    *)
WithinEpochs == Now(coordinator).epoch <= MaxEpoch

(* What must be reached: an earlier epoch's commit is accepted (KIP-1251);  *)
(* a commit is lost with its coordinator.                                   *)
NoEarlierEpochProbe ==
  [][IsCommitted =>
       \A n \in Members : \A r \in Committing(n) :
         r.epoch = Now(coordinator).members[n].epoch]_mcVars
NoLostCommitProbe ==
  [][IsFailOver /\ (\E n \in Members : \E r \in clients[n].requested : r.sent)
       => Now(coordinator').offset = Now(coordinator).offset]_mcVars

(* A twin, in which a property fails: the epoch of the moment in which a    *)
(* commit is sent.                                                          *)
Restamped(row, request) == row.epoch
=============================================================================
