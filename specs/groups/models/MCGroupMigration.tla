-------------------------- MODULE MCGroupMigration ---------------------------
(***************************************************************************)
(* A group with members of both protocols, within bounds.                   *)
(***************************************************************************)
EXTENDS GroupMigrationProperties, TLC

CONSTANTS
  Cooperative,   \* whether classic members are: values of which each may have one
  MaxStarts,     \* of consumers
  MaxGoings,     \* consumers that are closed or killed, or time out
  MaxRestarts,   \* of static members, with the classic protocol
  MaxMoves       \* of the coordinator

VARIABLE spent

mcVars == <<migration, spent>>

Symmetry == Permutations(Members) \cup Permutations(Partitions)

MCInit ==
  /\ migration = InitialMigration
  /\ spent = [starts |-> 0, goings |-> 0, restarts |-> 0, moves |-> 0]

Becomes(outcomes) == \E o \in outcomes : migration' = o.row
Free(Action) == Action /\ UNCHANGED spent
Paid(what, most, Action) ==
  spent[what] < most /\ Action /\ spent' = [spent EXCEPT ![what] = @ + 1]

OfConsumer(k) ==
  LET input == [member |-> k] IN
  \/ Paid("goings", MaxGoings, Becomes(Step_HandleCloseConsumer(0, migration, input)))
  \/ Paid("goings", MaxGoings, Becomes(Step_HandleLeaveForAWhile(0, migration, input)))
  \/ Paid("goings", MaxGoings, Becomes(Step_HandleKillConsumer(0, migration, input)))
  \/ IF migration.clients[k].state = "Closed"
     THEN Free(Becomes(Step_HandleExpireMember(0, migration, input)))
     ELSE Paid("goings", MaxGoings, Becomes(Step_HandleExpireMember(0, migration, input)))
  \/ Paid("restarts", MaxRestarts, Becomes(Step_HandleRestartAsClassic(0, migration, input)))
  \/ Free(Becomes(Step_HandleConsumerHeartbeat(0, migration, input)))
  \/ Free(Becomes(Step_HandleRejoinClassic(0, migration, input)))
  \/ Free(Becomes(Step_HandleSyncClassic(0, migration, input)))

MCNext ==
  \/ \E input \in Inputs_StartConsumer(0, migration) :
       /\ input.cooperative \in (IF input.protocol = "Classic" THEN Cooperative ELSE {FALSE})
       /\ Paid("starts", MaxStarts, Becomes(Step_HandleStartConsumer(0, migration, input)))
  \/ \E k \in Members : OfConsumer(k)
  \/ Free(Becomes(Step_HandleCompleteJoin(0, migration, 0)))
  \/ \E input \in Inputs_MoveMigrated(0, migration) :
       Paid("moves", MaxMoves, Becomes(Step_HandleMoveMigrated(0, migration, input)))

MCSpec == MCInit /\ [][MCNext]_mcVars

(* What must be reached: the group goes back to the classic protocol; a     *)
(* classic member waits for what another one has not given up; a group is   *)
(* migrated while one is to give something up.                              *)
NoDowngradeProbe ==
  [][migration.type = "Consumer" /\ Known # {} => migration'.type = "Consumer"]_mcVars
NoClassicWaitsProbe ==
  \A n \in Members :
    LET member == migration.members[n] IN
    ~(member.protocol = "Classic" /\ migration.type = "Consumer"
      /\ member.epoch = migration.epoch /\ member.assigned # member.target)
NoMigratedAmidProbe ==
  [][migration.type = "Classic" /\ migration'.type = "Consumer" =>
       \A n \in Members : migration'.members[n].pending = {}]_mcVars
=============================================================================
