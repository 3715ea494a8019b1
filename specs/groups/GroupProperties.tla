-------------------------- MODULE GroupProperties ---------------------------
(***************************************************************************)
(* What consumer groups promise, as named properties.  Law of this file: no *)
(* decision of GroupRules is used.                                          *)
(***************************************************************************)
EXTENDS Groups

vars == <<coordinator, clients, network>>

(* The group as its coordinator sees it now, and every one that a           *)
(* coordinator to come may find.                                            *)
Now(row) == IF row.log.leader = <<>> THEN row.log.committed
            ELSE row.log.leader[Len(row.log.leader)]
RecordsOf(records) == {records[i] : i \in 1..Len(records)}
Prefixes(row) ==
  {row.log.committed} \cup RecordsOf(row.log.leader)
    \cup UNION {RecordsOf(t.records) : t \in row.log.tails}

Has(member) == member.assigned \cup member.pending
Present(group) == {n \in Members : group.members[n].state # "None"}

(* A member that the coordinator takes for the one that it is.  Of others   *)
(* nothing is promised: who was fenced may fetch on until it hears of it.   *)
IsCurrent(n) ==
  LET member == Now(coordinator).members[n] IN
  /\ clients[n].state \notin {"Unsubscribed", "Joining", "Fatal"}
  /\ member.state # "None" /\ clients[n].epoch \in {member.epoch, member.previousEpoch}

-----------------------------------------------------------------------------
(* Types.                                                                   *)

GroupTypeInv ==
  /\ \A group \in Prefixes(coordinator) : \A n \in Members :
       LET member == group.members[n] IN
       /\ member.state \in {"None", "Stable", "Unrevoked", "Unreleased"}
       /\ member.assigned \cap member.pending = {}
       /\ (member.state = "Unrevoked") = (member.pending # {})
  /\ \A n \in Members :
       LET row == clients[n] IN
       /\ row.state \in {"Unsubscribed", "Joining", "Reconciling", "Acknowledging", "Stable",
                         "Fatal"}
       /\ row.busy => row.state = "Reconciling"
       /\ row.state \in {"Unsubscribed", "Joining", "Fatal"} => row.owned = {} /\ row.current = {}
       /\ row.state = "Stable" => row.reconciled

(* What the coordinator remembers of partitions is what the records say.    *)
HeldIsAssigned ==
  \A group \in Prefixes(coordinator) :
    group.held = UNION {Has(group.members[n]) : n \in Members}

-----------------------------------------------------------------------------
(* Safety: the coordinator.                                                 *)

(* In no log that any coordinator may have, a partition has two owners.     *)
ServerSingleOwner ==
  \A group \in Prefixes(coordinator) : \A m, n \in Members :
    m # n => Has(group.members[m]) \cap Has(group.members[n]) = {}

(* No epoch is ahead of the one that it follows.                            *)
EpochsBounded ==
  \A group \in Prefixes(coordinator) :
    /\ group.targetEpoch <= group.epoch
    /\ \A n \in Members :
         /\ group.members[n].epoch <= group.targetEpoch
         /\ group.members[n].previousEpoch <= group.members[n].epoch

(* A member is given only what it asked for.                                *)
AssignedIsSubscribed ==
  \A group \in Prefixes(coordinator) : \A n \in Members :
    group.members[n].assigned \subseteq group.members[n].subscribed

(* A target gives away all that there is of what somebody subscribes to.    *)
TargetIsWhole ==
  \A group \in Prefixes(coordinator) :
    group.targetEpoch = group.epoch =>
      UNION {group.members[n].target : n \in Members}
        = UNION {group.members[n].subscribed : n \in Members} \ (Growing \ group.grown)

(* An instance id is that of one member.                                    *)
StaticIdentity ==
  \A group \in Prefixes(coordinator) : \A each \in Static :
    Cardinality({n \in each : group.members[n].state # "None"}) < 2

(* A member that is through has its target, and nobody has more than that   *)
(* once it is in the target's epoch.                                        *)
AssignedIsTarget ==
  \A group \in Prefixes(coordinator) : \A n \in Members :
    LET member == group.members[n] IN
    (/\ member.state \in {"Stable", "Unreleased"} /\ member.epoch = group.targetEpoch
     /\ group.targetEpoch = group.epoch)
      => /\ member.assigned \subseteq member.target
         /\ member.state = "Stable" => member.assigned = member.target

-----------------------------------------------------------------------------
(* Safety: members.                                                         *)

(* No two members may fetch a partition.                                    *)
SingleOwner ==
  \A m, n \in Members :
    m # n /\ IsCurrent(m) /\ IsCurrent(n) => clients[m].owned \cap clients[n].owned = {}

(* A member may fetch only what its coordinator takes it to have.           *)
OwnedIsHeld ==
  \A n \in Members : IsCurrent(n) => clients[n].owned \subseteq Has(Now(coordinator).members[n])

(* A member knows of no epoch that is not committed.                        *)
EpochIsCommitted ==
  \A n \in Members : clients[n].epoch <= coordinator.log.committed.targetEpoch

(* A member that has said that it revoked is not waited for.                *)
AckIsHeard ==
  \A n \in Members :
    LET member == Now(coordinator).members[n] IN
    ~(/\ member.state = "Unrevoked" /\ clients[n].epoch = member.epoch
      /\ clients[n].state = "Stable" /\ ~clients[n].awaiting /\ clients[n].unsent = {}
      /\ clients[n].target = member.assigned)

(* No member gives up that has its instance id for itself.                  *)
NobodyGivesUp ==
  \A n \in Members :
    clients[n].state = "Fatal" => \E each \in Static : n \in each /\ each # {n}

(* What is kept for a static member that has left for a while, nobody       *)
(* fetches under its id.                                                    *)
KeptIsNotFetched ==
  \A n \in Members : Now(coordinator).members[n].epoch = ReleasedEpoch => clients[n].owned = {}

-----------------------------------------------------------------------------
(* Properties of steps.                                                     *)

(* Epochs of what is committed never go back; a member's does only when it  *)
(* has been removed meanwhile, or has left for a while.                     *)
EpochsMonotonicStep ==
  LET before == coordinator.log.committed
      after == coordinator'.log.committed
  IN /\ after.epoch >= before.epoch /\ after.targetEpoch >= before.targetEpoch
     /\ \A n \in Members :
          after.members[n].state # "None" /\ after.members[n].epoch < before.members[n].epoch
            /\ after.members[n].epoch # ReleasedEpoch
            => \E group \in RecordsOf(coordinator.log.leader) \cup {before} :
                 group.members[n].state = "None"
EpochsMonotonic == [][EpochsMonotonicStep]_vars

(* A partition is given to a member only when no other one has it, but for  *)
(* one that it replaces.  (When another coordinator takes over, nothing is  *)
(* given.)                                                                  *)
IsMove ==
  /\ coordinator'.log.committed = coordinator.log.committed
  /\ coordinator'.log.tails = coordinator.log.tails
WithheldStep ==
  LET before == Now(coordinator)
      after == Now(coordinator')
  IN ~IsMove =>
       \A n \in Members : \A m \in Members \ {n} :
         \/ (after.members[n].assigned \ before.members[n].assigned)
               \cap Has(before.members[m]) = {}
         \/ /\ \E each \in Static : {m, n} \subseteq each
            /\ after.members[m].state = "None"
Withheld == [][WithheldStep]_vars

(* A static member is replaced by another one only when it fetches nothing  *)
(* any more.  (Who was removed may fetch on until it hears of it.)          *)
ReplacedHasLeftStep ==
  LET before == Now(coordinator)
      after == Now(coordinator')
      isNew(n) == before.members[n].state = "None" /\ after.members[n].state # "None"
  IN ~IsMove =>
       \A each \in Static : (\E n \in each : isNew(n)) =>
         \A n \in each : before.members[n].state # "None" => clients[n].owned = {}
ReplacedHasLeft == [][ReplacedHasLeftStep]_vars

(* What a member is told of itself, without an error, is committed.         *)
CommittedNow ==
  {coordinator'.log.committed}
    \cup IF coordinator'.log.leader = <<>> THEN RecordsOf(coordinator.log.leader) ELSE {}
AnswerAfterCommitStep ==
  \A a \in network' \ network :
    IsAnswer(a) /\ a.error = "NONE" =>
      \E group \in CommittedNow :
        /\ group.members[a.destination].epoch = a.epoch
        /\ a.tells => group.members[a.destination].assigned = a.assigned
AnswerAfterCommit == [][AnswerAfterCommitStep]_vars
=============================================================================
