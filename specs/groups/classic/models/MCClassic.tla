------------------------------ MODULE MCClassic ------------------------------
(***************************************************************************)
(* A group of the classic protocol within bounds.                           *)
(***************************************************************************)
EXTENDS ClassicProperties, TLC

CONSTANTS
  MaxTimeouts,   \* requests or answers that are lost
  MaxExpiries,   \* sessions that time out, and rebalances
  MaxLeaves,     \* members that unsubscribe
  MaxRejoins     \* members that ask for a rebalance

VARIABLE spent

mcVars == <<vars, spent>>

MemberSymmetry == Permutations(Members)
Symmetry == MemberSymmetry \cup Permutations(Partitions)

MCInit ==
  /\ Init
  /\ spent = [timeouts |-> 0, expiries |-> 0, leaves |-> 0, rejoins |-> 0]

Free(Action) == Action /\ UNCHANGED spent
Paid(what, most, Action) ==
  spent[what] < most /\ Action /\ spent' = [spent EXCEPT ![what] = @ + 1]

(* A member that has left stays away: its going is paid for.                *)
HasLeft(n) == clients[n].state = "Unsubscribed" /\ clients[n].correlation # 0

(* Nobody will answer: another coordinator knows nothing of the request.    *)
IsAnswerLost(n) ==
  /\ clients[n].awaiting
  /\ \A m \in network : m.destination # n
  /\ LET member == coordinator.members[n] IN
     ~((member.joined \/ member.syncing) /\ member.correlation = clients[n].correlation)

MemberActions(n) ==
  \/ ~HasLeft(n) /\ Free(Subscribe(n))
  \/ Free(SendJoinGroup(n)) \/ Free(SendHeartbeat(n))
  \/ Paid("leaves", MaxLeaves, Unsubscribe(n))
  \/ Paid("rejoins", MaxRejoins, RequestRejoin(n))
  \/ Paid("timeouts", MaxTimeouts, LoseRequest(n, Step_HandleSendJoinGroup(n, clients[n], 0)))
  \/ Paid("timeouts", MaxTimeouts, RequestTimeout(n))
  \/ IsAnswerLost(n) /\ Free(RequestTimeout(n))

MCNext ==
  \/ \E n \in Members : MemberActions(n) \/ Paid("expiries", MaxExpiries, SessionTimeout(n))
  \/ Paid("expiries", MaxExpiries, RebalanceTimeout)
  \/ Free(Commit)
  \/ \E tail \in coordinator.log.tails : Free(MoveCoordinator(tail))
  \/ \E m \in network :
       Free(HearAnswer(m)) \/ Paid("timeouts", MaxTimeouts, HearAnswerLoseRequest(m))

MCSpec == MCInit /\ [][MCNext]_mcVars

(* Situations that must be reached: a member with partitions missed a       *)
(* generation; a partition is withheld; a member must join again, or its    *)
(* generation is over, or it is no member; a load finds uncommitted         *)
(* records, and records that the last coordinator never had.                *)
NoMissedGenerationProbe ==
  \A n \in Members :
    clients[n].state = "Joining" /\ clients[n].owned # {} /\ clients[n].hasId =>
      clients[n].generation >= Recorded.generation
NoWithheldProbe ==
  Known(coordinator) # {} /\ coordinator.state = "Stable" =>
    UNION {coordinator.members[n].assigned : n \in Members} = Partitions
NoRebalanceProbe ==
  \A m \in network : m.type = "SyncGroupResponse" => m.error # "REBALANCE_IN_PROGRESS"
NoIllegalGenerationProbe == \A m \in network : m.error # "ILLEGAL_GENERATION"
NoUnknownProbe == \A m \in network : m.error # "UNKNOWN_MEMBER_ID"
NoLoadedTailProbe ==
  [][coordinator'.leaderEpoch > coordinator.leaderEpoch =>
       coordinator'.log.leader = <<>>]_mcVars
NoTailOfAnotherProbe ==
  [][coordinator'.leaderEpoch > coordinator.leaderEpoch =>
       LET had == coordinator.log.leader
           has == coordinator'.log.leader
       IN Len(has) <= Len(had) /\ has = SubSeq(had, 1, Len(has))]_mcVars
=============================================================================
