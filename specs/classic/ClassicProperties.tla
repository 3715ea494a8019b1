------------------------- MODULE ClassicProperties --------------------------
(***************************************************************************)
(* What groups of the classic protocol promise, as named properties.  Law   *)
(* of this file: no decision of ClassicRules is used.                       *)
(***************************************************************************)
EXTENDS Classic

vars == <<coordinator, clients, network>>

Recorded == coordinator.log.committed
Records ==
  {Recorded} \cup
    UNION {{t.records[i] : i \in 1..Len(t.records)} : t \in coordinator.log.tails}

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
    clients[n].state = "Stable" => clients[n].generation <= Recorded.generation

(* A member that is through has what was recorded for it.                   *)
OwnedIsAssigned ==
  \A n \in Members :
    /\ clients[n].state = "Stable"
    /\ clients[n].generation = Recorded.generation
    => clients[n].owned \subseteq Recorded.members[n].assigned

(* What is committed never goes back to an earlier generation.              *)
GenerationsMonotonicStep == Recorded'.generation >= Recorded.generation
GenerationsMonotonic == [][GenerationsMonotonicStep]_vars
=============================================================================
