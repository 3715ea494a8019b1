------------------------- MODULE ClassicProperties --------------------------
(***************************************************************************)
(* What groups of the classic protocol promise, as named properties.  Law   *)
(* of this file: no decision of ClassicRules is used.                       *)
(***************************************************************************)
EXTENDS Classic

vars == <<coordinator, clients, network>>

Records == {coordinator.recorded} \cup
             {coordinator.writing[i] : i \in 1..Len(coordinator.writing)}

(* A member that the coordinator knows, and that has not heard otherwise.   *)
(* Of others nothing is promised: who was removed may fetch on until it     *)
(* hears of it, as may who missed a generation.                             *)
IsCurrent(n) ==
  /\ coordinator.members[n].known /\ clients[n].hasId
  /\ clients[n].generation >= coordinator.members[n].claimed

ClassicTypeInv ==
  /\ coordinator.state \in {"Empty", "Preparing", "Completing", "Stable"}
  /\ (coordinator.state = "Empty") => Known(coordinator) = {}
  /\ \A n \in Members :
       LET member == coordinator.members[n] IN
       /\ member.joined => member.known /\ coordinator.state = "Preparing"
       /\ member.syncing => member.known /\ coordinator.state = "Completing"
       /\ clients[n].state = "Unsubscribed" => clients[n].owned = {} /\ ~clients[n].hasId
       /\ clients[n].state \in {"Syncing", "Stable"} => clients[n].hasId

(* In no assignment a partition is given to two.                            *)
AssignedOnce ==
  \A record \in Records : \A m, n \in Members :
    m # n => record.members[m].assigned \cap record.members[n].assigned = {}

(* No two members may fetch a partition.                                    *)
SingleOwner ==
  \A m, n \in Members :
    m # n /\ IsCurrent(m) /\ IsCurrent(n) => clients[m].owned \cap clients[n].owned = {}

(* A member knows of no assignment that is not committed.                   *)
AssignmentIsCommitted ==
  \A n \in Members :
    clients[n].state = "Stable" => clients[n].generation <= coordinator.recorded.generation

(* A member that is through has what was recorded for it.                   *)
OwnedIsAssigned ==
  \A n \in Members :
    /\ clients[n].state = "Stable"
    /\ clients[n].generation = coordinator.recorded.generation
    => clients[n].owned \subseteq coordinator.recorded.members[n].assigned

(* What is committed never goes back to an earlier generation.              *)
GenerationsMonotonicStep ==
  coordinator'.recorded.generation >= coordinator.recorded.generation
GenerationsMonotonic == [][GenerationsMonotonicStep]_vars
=============================================================================
