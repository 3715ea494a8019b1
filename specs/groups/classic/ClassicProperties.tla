------------------------- MODULE ClassicProperties --------------------------
(***************************************************************************)
(* Named properties of groups of the classic protocol. Law of this file: no *)
(* decision of ClassicRules is used.                                        *)
(***************************************************************************)
EXTENDS Classic

vars == <<coordinator, clients, network>>

Recorded == coordinator.log.committed
Records ==
  {Recorded} \cup
    UNION {{t.records[i] : i \in 1..Len(t.records)} : t \in coordinator.log.tails}

(* A member that the coordinator knows and that has not missed a            *)
(* generation. Nothing is guaranteed for the others: a removed member may   *)
(* fetch until it learns of its removal, and so may a member that missed a  *)
(* generation.                                                              *)
IsCurrent(n) ==
  /\ coordinator.members[n].known /\ clients[n].hasId
  /\ clients[n].generation >= coordinator.members[n].claimed

(* Every field of a row has a value of its type. Misses: a value of the     *)
(* right type that is wrong in this state.                                  *)
ClassicTypeInv ==
  /\ coordinator.state \in {"Empty", "Preparing", "Completing", "Stable"}
  /\ (coordinator.state = "Empty") => Known(coordinator) = {}
  /\ \A n \in Members :
       LET member == coordinator.members[n] IN
       /\ member.joined => member.known /\ coordinator.state = "Preparing"
       /\ member.syncing => member.known /\ coordinator.state = "Completing"
       /\ clients[n].state = "Unsubscribed" => clients[n].owned = {} /\ ~clients[n].hasId
       /\ clients[n].state \in {"Syncing", "Stable"} => clients[n].hasId

(* No assignment gives one partition to two members. Misses: what members   *)
(* fetch (see SingleOwner).                                                 *)
AssignedOnce ==
  \A record \in Records : \A m, n \in Members :
    m # n => record.members[m].assigned \cap record.members[n].assigned = {}

(* No two members that the coordinator counts as members may fetch one      *)
(* partition. Misses: a member that was removed or missed a generation, and *)
(* fetches until it learns of it.                                           *)
SingleOwner ==
  \A m, n \in Members :
    m # n /\ IsCurrent(m) /\ IsCurrent(n) => clients[m].owned \cap clients[n].owned = {}

(* A stable member has no assignment that is not committed. Misses: an      *)
(* assignment that a waiting member never receives.                         *)
AssignmentIsCommitted ==
  \A n \in Members :
    clients[n].state = "Stable" => clients[n].generation <= Recorded.generation

(* A stable member of the recorded generation owns at most its recorded     *)
(* assignment. Misses: a partition that nobody fetches.                     *)
OwnedIsAssigned ==
  \A n \in Members :
    /\ clients[n].state = "Stable"
    /\ clients[n].generation = Recorded.generation
    => clients[n].owned \subseteq Recorded.members[n].assigned

(* The committed generation never decreases. Misses: a generation that      *)
(* members received and that was never committed.                           *)
GenerationsMonotonicStep == Recorded'.generation >= Recorded.generation
GenerationsMonotonic == [][GenerationsMonotonicStep]_vars
=============================================================================
