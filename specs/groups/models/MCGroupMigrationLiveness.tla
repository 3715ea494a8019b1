---------------------- MODULE MCGroupMigrationLiveness -----------------------
(***************************************************************************)
(* Liveness of a group with members of both protocols. Running consumers    *)
(* and the coordinator are fair. Unfair names the omitted fairness          *)
(* conditions, for twins in which the property fails. A closed or killed    *)
(* consumer is eventually removed (G20), if it does not start again.        *)
(***************************************************************************)
EXTENDS MCGroupMigration

CONSTANT Unfair

(* An action that never can be taken is fair.                               *)
Wanted(name, Action) == name \notin Unfair /\ Action
Of(step) == Free(Becomes(step))

LiveSpec ==
  /\ MCSpec
  /\ WF_mcVars(Wanted("CompleteJoin", Of(Step_HandleCompleteJoin(0, migration, 0))))
  /\ \A k \in Members :
       LET input == [member |-> k]
           gone == migration.clients[k].state = "Closed"
       IN
       /\ WF_mcVars(Wanted("ExpireMember",
                           gone /\ Of(Step_HandleExpireMember(0, migration, input))))
       /\ WF_mcVars(Wanted("ConsumerHeartbeat",
                           Of(Step_HandleConsumerHeartbeat(0, migration, input))))
       /\ WF_mcVars(Wanted("RejoinClassic", Of(Step_HandleRejoinClassic(0, migration, input))))
       /\ WF_mcVars(Wanted("SyncClassic", Of(Step_HandleSyncClassic(0, migration, input))))

(* Eventually every running member has finished, and every partition has an *)
(* owner.                                                                   *)
Settled ==
  LET running == {n \in Members : migration.clients[n].state # "Closed"} IN
  /\ Known = running
  /\ \A n \in running : migration.clients[n].state = "Stable"
  /\ running # {} => UNION {migration.clients[n].owned : n \in running} = Partitions
MigrationConverges == <>[]Settled
=============================================================================
