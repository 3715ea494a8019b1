------------------------------ MODULE MCGroups ------------------------------
(***************************************************************************)
(* A consumer group within bounds.  Epochs are bounded by what is paid for. *)
(***************************************************************************)
EXTENDS GroupProperties, TLC

CONSTANTS
  Subscriptions,   \* what members may subscribe to
  MaxTimeouts,     \* heartbeats or answers that are lost
  MaxExpiries,     \* sessions that time out
  MaxLeaves,       \* members that unsubscribe
  MaxChanges,      \* subscriptions that are changed
  Late             \* whether a heartbeat that was lost may arrive later

VARIABLE spent

mcVars == <<vars, spent>>

(* Instance ids are alike that as many have.                                *)
Image(f, some) == {f[each] : each \in some}
MemberSymmetry ==
  {f \in Permutations(Members) : {Image(f, each) : each \in Static} = Static}
Symmetry ==
  MemberSymmetry \cup {f \in Permutations(Partitions) : Image(f, Growing) = Growing}

MCInit ==
  /\ Init
  /\ spent = [timeouts |-> 0, expiries |-> 0, leaves |-> 0, changes |-> 0]

Free(Action) == Action /\ UNCHANGED spent
Paid(what, most, Action) ==
  spent[what] < most /\ Action /\ spent' = [spent EXCEPT ![what] = @ + 1]

(* A member that has left stays away, but for a static one: its going is    *)
(* paid for.                                                                *)
HasLeft(n) ==
  n \notin UNION Static /\ clients[n].state = "Unsubscribed" /\ clients[n].correlation # 0

(* Another coordinator knows nothing of the answer.                         *)
IsAnswerLost(n) ==
  clients[n].awaiting /\ \A m \in network \cup coordinator.waiting : m.destination # n

MemberActions(n) ==
  \/ \E topics \in Subscriptions :
       IF clients[n].state = "Unsubscribed"
       THEN ~HasLeft(n) /\ Free(Subscribe(n, topics))
       ELSE Paid("changes", MaxChanges, Subscribe(n, topics))
  \/ Free(SendGroupHeartbeat(n))
  \/ Free(StartReconciliation(n)) \/ Free(CompleteReconciliation(n))
  \/ Paid("leaves", MaxLeaves, Unsubscribe(n))
  \/ Paid("timeouts", MaxTimeouts, LoseHeartbeat(n, Late))
  \/ Paid("timeouts", MaxTimeouts, HeartbeatTimeout(n))
  \/ IsAnswerLost(n) /\ Free(HeartbeatTimeout(n))

CoordinatorActions ==
  \/ Free(GroupCommit)
  \/ \E n \in Members : Paid("expiries", MaxExpiries, GroupSessionTimeout(n))
  \/ \E p \in Growing : Free(GrowTopic(p))
  \/ \E tail \in coordinator.log.tails : Free(MoveCoordinator(tail))

MCNext ==
  \/ \E n \in Members : MemberActions(n)
  \/ CoordinatorActions
  \/ \E m \in network : Free(HearAnswer(m) \/ LateHeartbeat(m))

MCSpec == MCInit /\ [][MCNext]_mcVars
=============================================================================
