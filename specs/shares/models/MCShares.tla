------------------------------ MODULE MCShares -------------------------------
(***************************************************************************)
(* A share partition within bounds.                                         *)
(***************************************************************************)
EXTENDS ShareProperties

CONSTANTS
  MaxWrites,       \* writes under way
  MaxUncommitted,  \* records of the coordinator that are not committed
  MaxTails,        \* logs of replicas
  MaxLosses,       \* answers of the coordinator that are lost
  MaxGiveUps,      \* writes that are given up
  MaxRecreations,  \* of the share partition in its epoch
  MaxStarts,       \* moves of the log start
  MaxLate,         \* locks that run out unnoticed by their holder
  MaxSessions,     \* sessions that end
  Kinds,           \* of acknowledgements
  InOrder          \* TRUE: writes arrive in the order in which they were made

VARIABLES
  spent,   \* of the budgets
  order    \* the writes under way, in the order in which they were made

mcVars == <<vars, spent, order>>

Symmetry == Permutations(Members)

MCInit ==
  /\ Init
  /\ spent = [losses |-> 0, giveUps |-> 0, recreations |-> 0, starts |-> 0, late |-> 0,
              sessions |-> 0]
  /\ order = <<>>

IsWrite(m) == m.type = "WriteShareGroupState"
UnderWay(messages, waiting) ==
  {m \in messages : IsWrite(m)} \cup
  {m.write : m \in {a \in messages \cup waiting : a.type = "WriteShareGroupStateResponse"}}

(* A new write is last in the order, and leaves it when its response        *)
(* arrives.                                                                 *)
Ordered ==
  IF ~InOrder THEN order' = <<>>
  ELSE LET now == UnderWay(network', coordinator'.waiting)
           kept == SelectSeq(order, LAMBDA w : w \in now)
           new == now \ {order[i] : i \in 1 .. Len(order)}
       IN order' = IF new = {} THEN kept ELSE kept \o <<CHOOSE w \in new : TRUE>>
MayArrive(m) ==
  InOrder /\ IsWrite(m) =>
    \A i \in 1 .. Len(order) :
      order[i] \in network => \E j \in 1 .. i : order[j] = m

Free(Action) == Action /\ UNCHANGED spent
Paid(what, most, Action) ==
  /\ spent[what] < most /\ Action
  /\ spent' = [spent EXCEPT ![what] = @ + 1]

LeaderActions ==
  \/ \E o \in Offsets : Free(LockTimeout(o, Forgets(o)))
  \/ \E o \in Offsets : Paid("late", MaxLate, LockTimeout(o, clients))
  \/ \E n \in Members : Paid("sessions", MaxSessions, SessionEnd(n))
  \/ \E a \in leader.pending : Paid("giveUps", MaxGiveUps, GiveUpWrite(a.write))
  \/ Free(MoveLeader(NothingHeld)) \/ Paid("late", MaxLate, MoveLeader(clients))
  \/ Free(ProduceBatch)
  \/ Paid("recreations", MaxRecreations, Recreate)
  \/ \E to \in Offsets : Paid("starts", MaxStarts, MoveLogStart(to))

MCNext ==
  /\ \/ \E n \in Members :
          \/ Free(FetchRecords(n))
          \/ \E first, last \in Offsets : \E kind \in Kinds :
               Free(AcknowledgeRecords(n, first, last, kind))
     \/ LeaderActions
     \/ \E m \in network :
          \/ MayArrive(m) /\ Free(Arrive(m))
          \/ Free(Hear(m))
          \/ Paid("losses", MaxLosses, AnswerLost(m))
     \/ Free(StateCommit)
     \/ \E tail \in coordinator.log.tails : Free(MoveShareCoordinator(tail))
  /\ Ordered

MCSpec == MCInit /\ [][MCNext]_mcVars

(* Bounds: what has more is not followed.                                   *)
WithinWrites ==
  /\ Cardinality(UnderWay(network, coordinator.waiting)) <= MaxWrites
  /\ Len(coordinator.log.leader) <= MaxUncommitted
  /\ Cardinality(coordinator.log.tails) <= MaxTails
WithinIncarnations == leader.incarnation <= MaxIncarnations

(* Not guaranteed: a broker that drops a share partition and creates it     *)
(* again delivers the same records in the same leader epoch.                *)
SingleHolderInEpoch ==
  \A m, n \in Members : m # n =>
    \A h \in clients[m].held, k \in clients[n].held :
      h.offset = k.offset => h.leaderEpoch # k.leaderEpoch

(* The broker replaces a share partition by itself, or for an error of its  *)
(* own, which no write of the newest incarnation has.                       *)
OnlyOwnErrorRemoves ==
  [][leader'.incarnation # leader.incarnation /\ leader'.leaderEpoch = leader.leaderEpoch
       => spent' # spent]_mcVars

(* Every record is acknowledged, or delivered as often as the limit allows. *)
AllFinished ==
  /\ leader.phase = "Active"
  /\ \A o \in Offsets : o < leader.start \/ leader.cells[o].state \in Terminal

(* What must be reached.                                                    *)
NoArchivedProbe == \A o \in Offsets : leader.cells[o].state # "Archived"
NoGapProbe == leader.gap = 0
NoRefusedProbe == \A m \in network : IsRequest(m) \/ m.error = "NONE"
=============================================================================
