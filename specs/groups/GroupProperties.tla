-------------------------- MODULE GroupProperties ---------------------------
(***************************************************************************)
(* Named properties of consumer groups. Law of this file: no decision of    *)
(* GroupRules is used.                                                      *)
(***************************************************************************)
EXTENDS Groups

vars == <<coordinator, clients, network>>

(* Now: the group in the present coordinator's state. Prefixes: all groups  *)
(* that a next coordinator may find in its log.                             *)
Now(row) == IF row.log.leader = <<>> THEN row.log.committed
            ELSE row.log.leader[Len(row.log.leader)]
RecordsOf(records) == {records[i] : i \in 1..Len(records)}
Prefixes(row) ==
  {row.log.committed} \cup RecordsOf(row.log.leader)
    \cup UNION {RecordsOf(t.records) : t \in row.log.tails}

Has(member) == member.assigned \cup member.pending
Present(group) == {n \in Members : group.members[n].state # "None"}

(* A member that the coordinator knows, in its present or previous epoch.   *)
(* Nothing is guaranteed for the others: a fenced member may fetch until it *)
(* learns of it.                                                            *)
IsCurrent(n) ==
  LET member == Now(coordinator).members[n] IN
  /\ clients[n].state \notin {"Unsubscribed", "Joining", "Fatal"}
  /\ member.state # "None" /\ clients[n].epoch \in {member.epoch, member.previousEpoch}

-----------------------------------------------------------------------------
(* Types.                                                                   *)

(* Every field of a row has a value of its type. Misses: a value of the     *)
(* right type that is wrong in this state.                                  *)
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

(* The partitions that a group holds are those that its member records      *)
(* have. Misses: wrong member records.                                      *)
HeldIsAssigned ==
  \A group \in Prefixes(coordinator) :
    group.held = UNION {Has(group.members[n]) : n \in Members}

-----------------------------------------------------------------------------
(* Safety: the coordinator.                                                 *)

(* No log that a coordinator may have gives one partition to two members.   *)
(* Misses: what members fetch (see SingleOwner).                            *)
ServerSingleOwner ==
  \A group \in Prefixes(coordinator) : \A m, n \in Members :
    m # n => Has(group.members[m]) \cap Has(group.members[n]) = {}

(* No member epoch exceeds the target epoch, and no target epoch exceeds    *)
(* the group epoch. Misses: an epoch that should have increased.            *)
EpochsBounded ==
  \A group \in Prefixes(coordinator) :
    /\ group.targetEpoch <= group.epoch
    /\ \A n \in Members :
         /\ group.members[n].epoch <= group.targetEpoch
         /\ group.members[n].previousEpoch <= group.members[n].epoch

(* A member has only partitions to which it subscribed. Misses: a partition *)
(* that a member should have.                                               *)
AssignedIsSubscribed ==
  \A group \in Prefixes(coordinator) : \A n \in Members :
    group.members[n].assigned \subseteq group.members[n].subscribed

(* A current target assigns every partition to which some member            *)
(* subscribes. Misses: a target that is never computed.                     *)
TargetIsWhole ==
  \A group \in Prefixes(coordinator) :
    group.targetEpoch = group.epoch =>
      UNION {group.members[n].target : n \in Members}
        = UNION {group.members[n].subscribed : n \in Members} \ (Growing \ group.grown)

(* An instance id belongs to at most one member. Misses: the wrong member.  *)
StaticIdentity ==
  \A group \in Prefixes(coordinator) : \A each \in Static :
    Cardinality({n \in each : group.members[n].state # "None"}) < 2

(* In the target's epoch a member has at most its target, and a stable      *)
(* member exactly its target. Misses: members in an earlier epoch, and      *)
(* whether they ever reach their target.                                    *)
AssignedIsTarget ==
  \A group \in Prefixes(coordinator) : \A n \in Members :
    LET member == group.members[n] IN
    (/\ member.state \in {"Stable", "Unreleased"} /\ member.epoch = group.targetEpoch
     /\ group.targetEpoch = group.epoch)
      => /\ member.assigned \subseteq member.target
         /\ member.state = "Stable" => member.assigned = member.target

-----------------------------------------------------------------------------
(* Safety: members.                                                         *)

(* No two members that the coordinator counts as members may fetch one      *)
(* partition. Misses: a fenced member that fetches until it learns of it.   *)
SingleOwner ==
  \A m, n \in Members :
    m # n /\ IsCurrent(m) /\ IsCurrent(n) => clients[m].owned \cap clients[n].owned = {}

(* A member may fetch only partitions that its coordinator attributes to    *)
(* it. Misses: a fenced member, and a partition that nobody fetches.        *)
OwnedIsHeld ==
  \A n \in Members : IsCurrent(n) => clients[n].owned \subseteq Has(Now(coordinator).members[n])

(* A member has no epoch that is not committed. Misses: an uncommitted      *)
(* assignment in a committed epoch.                                         *)
EpochIsCommitted ==
  \A n \in Members : clients[n].epoch <= coordinator.log.committed.targetEpoch

(* The coordinator does not wait for a revocation that the member has       *)
(* already reported. Misses: a member whose report is in flight.            *)
AckIsHeard ==
  \A n \in Members :
    LET member == Now(coordinator).members[n] IN
    ~(/\ member.state = "Unrevoked" /\ clients[n].epoch = member.epoch
      /\ clients[n].state = "Stable" /\ ~clients[n].awaiting /\ clients[n].unsent = {}
      /\ clients[n].target = member.assigned)

(* A member gives up only if another member may have its instance id.       *)
(* Misses: a member that is always refused and retries for ever.            *)
NobodyGivesUp ==
  \A n \in Members :
    clients[n].state = "Fatal" => \E each \in Static : n \in each /\ each # {n}

(* A static member that left temporarily fetches nothing. Misses: other     *)
(* members that fetch its partitions (see SingleOwner).                     *)
KeptIsNotFetched ==
  \A n \in Members : Now(coordinator).members[n].epoch = ReleasedEpoch => clients[n].owned = {}

-----------------------------------------------------------------------------
(* Properties of steps.                                                     *)

(* Committed epochs never decrease. A member's epoch decreases only if it   *)
(* was removed meanwhile or left temporarily. Misses: an epoch that should  *)
(* have increased.                                                          *)
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

(* Another coordinator takes over.                                          *)
IsMove ==
  /\ coordinator'.log.committed = coordinator.log.committed
  /\ coordinator'.log.tails = coordinator.log.tails
(* A member receives a partition only if no other member has it, except one *)
(* that it replaces. A new coordinator assigns nothing when it takes over.  *)
(* Misses: what a new coordinator makes of uncommitted records, and a       *)
(* partition that is withheld for ever.                                     *)
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

(* A static member is replaced only after it has stopped fetching. (A       *)
(* removed member may fetch until it learns of its removal.) Misses: a      *)
(* member that is removed and not replaced.                                 *)
ReplacedHasLeftStep ==
  LET before == Now(coordinator)
      after == Now(coordinator')
      isNew(n) == before.members[n].state = "None" /\ after.members[n].state # "None"
  IN ~IsMove =>
       \A each \in Static : (\E n \in each : isNew(n)) =>
         \A n \in each : before.members[n].state # "None" => clients[n].owned = {}
ReplacedHasLeft == [][ReplacedHasLeftStep]_vars

(* What a step commits.                                                     *)
CommittedNow ==
  {coordinator'.log.committed}
    \cup IF coordinator'.log.leader = <<>> THEN RecordsOf(coordinator.log.leader) ELSE {}
(* A response without an error contains only committed state of the member. *)
(* Misses: responses with an error.                                         *)
AnswerAfterCommitStep ==
  \A a \in network' \ network :
    IsAnswer(a) /\ a.error = "NONE" =>
      \E group \in CommittedNow :
        /\ group.members[a.destination].epoch = a.epoch
        /\ a.tells => group.members[a.destination].assigned = a.assigned
AnswerAfterCommit == [][AnswerAfterCommitStep]_vars
=============================================================================
