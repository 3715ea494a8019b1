---------------------- MODULE GroupMigrationProperties ----------------------
(***************************************************************************)
(* What is promised of a group with members of both protocols, as named     *)
(* properties.  Law of this file: no decision of GroupRules is used.        *)
(***************************************************************************)
EXTENDS GroupMigration

VARIABLE migration   \* the row

Recorded == {n \in Members : migration.members[n].protocol # "None"}
Known == {n \in Recorded : ~migration.members[n].left}

(* What is recorded of a group of the consumer protocol gives nothing to    *)
(* two.                                                                     *)
RecordedOnce ==
  migration.type = "Consumer" =>
    \A m, n \in Recorded :
      m # n => (migration.members[m].assigned \cup migration.members[m].pending)
                 \cap (migration.members[n].assigned \cup migration.members[n].pending) = {}

(* No two members that the group has not removed fetch a partition.         *)
OneOwnerInMigration ==
  \A m, n \in Known :
    m # n => migration.clients[m].owned \cap migration.clients[n].owned = {}

(* When all that are in the group are there, and each was told that there   *)
(* is nothing new, nothing is without an owner.                             *)
NoOrphan ==
  (/\ Recorded # {} /\ Recorded \subseteq migration.told
   /\ \A n \in Recorded : migration.clients[n].state # "Closed")
    => UNION {migration.clients[n].owned : n \in Recorded} = Partitions

(* Epochs and generations never go back.                                    *)
GenerationKeptStep == migration'.epoch >= migration.epoch
GenerationKept == [][GenerationKeptStep]_migration
=============================================================================
