---------------------- MODULE GroupMigrationProperties ----------------------
(***************************************************************************)
(* Named properties of a group with members of both protocols. Law of this  *)
(* file: no decision of GroupRules is used.                                 *)
(***************************************************************************)
EXTENDS GroupMigration

VARIABLE migration   \* the row

Recorded == {n \in Members : migration.members[n].protocol # "None"}
Known == {n \in Recorded : ~migration.members[n].left}

(* The records of a group of the consumer protocol give no partition to two *)
(* members. Misses: groups of the classic protocol, and what members fetch. *)
RecordedOnce ==
  migration.type = "Consumer" =>
    \A m, n \in Recorded :
      m # n => (migration.members[m].assigned \cup migration.members[m].pending)
                 \cap (migration.members[n].assigned \cup migration.members[n].pending) = {}

(* No two members that the group has not removed fetch one partition.       *)
(* Misses: a removed member that has not learned of its removal.            *)
OneOwnerInMigration ==
  \A m, n \in Known :
    m # n => migration.clients[m].owned \cap migration.clients[n].owned = {}

(* When all recorded members are present and have a response that nothing   *)
(* is new, every partition has an owner. Misses: a group whose members      *)
(* never reach this state.                                                  *)
NoOrphan ==
  (/\ Recorded # {} /\ Recorded \subseteq migration.told
   /\ \A n \in Recorded : migration.clients[n].state # "Closed")
    => UNION {migration.clients[n].owned : n \in Recorded} = Partitions

(* Epochs and generations never decrease. Misses: one that should have      *)
(* increased.                                                               *)
GenerationKeptStep == migration'.epoch >= migration.epoch
GenerationKept == [][GenerationKeptStep]_migration
=============================================================================
