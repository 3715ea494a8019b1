---------------------------- MODULE MCMovingReads ----------------------------
(***************************************************************************)
(* MCMoving whose controller is replaced once. The deposed one does not     *)
(* know it and continues to decide, but nothing of this is ever committed.  *)
(* Readers read from it and from its successor (V29). Brokers do nothing    *)
(* here.                                                                    *)
(***************************************************************************)
EXTENDS MCMoving

CONSTANT MaxDecisions    \* of the deposed controller

VARIABLES
  deposed,   \* of nobody, or of the deposed controller: stable, its row as all of it was
             \* committed; ahead, the same with what it has written since
  told       \* what was read last, or nothing yet

readVars == <<mcVars, deposed, told>>

NobodyDeposed == [stable |-> InitialMovingController, ahead |-> InitialMovingController,
                  decisions |-> -1]
NothingTold == {}

WasDeposed == deposed # NobodyDeposed

Deposes ==
  /\ ~WasDeposed
  /\ deposed' = [stable |-> controller, ahead |-> controller, decisions |-> 0]
  /\ \E o \in Step_HandleControllerFailover(Controller, controller, [none |-> 0]) :
       Become(rows, o.row, o.sent)
  /\ UNCHANGED told

Decides(outcomes) ==
  /\ WasDeposed /\ deposed.decisions < MaxDecisions
  /\ \E o \in outcomes :
       /\ RecordsIn(o.sent) # {}
       /\ deposed' = [deposed EXCEPT !.ahead = o.row, !.decisions = @ + 1]
  /\ UNCHANGED <<rows, controller, metadata, network, committed, acked, told>>

DeposedDecides ==
  \/ \E target \in Targets :
       Decides(Step_HandleReassignReplicas(Controller, deposed.ahead, [target |-> target]))
  \/ Decides(Step_HandleGiveUpReassignment(Controller, deposed.ahead, [none |-> 0]))
  \/ Decides(Step_HandleRemoveTopic(Controller, deposed.ahead, [none |-> 0]))

Reads(row) ==
  /\ \E o \in Step_HandleListReassignments(Controller, row, [none |-> 0]) : told' = o.sent
  /\ UNCHANGED <<rows, controller, metadata, network, committed, acked, deposed>>

(* The present controller commits what it writes at once.                   *)
Read ==
  \/ Reads(ReadFrom(controller, controller))
  \/ WasDeposed /\ Reads(ReadFrom(deposed.stable, deposed.ahead))

ReadsNext ==
  \/ (GiveUp \/ Remove \/ \E t \in Targets : ReassignTo(t)) /\ UNCHANGED <<deposed, told>>
  \/ (Deposes \/ DeposedDecides \/ Read) /\ UNCHANGED spent

ReadsInit == MCInit /\ deposed = NobodyDeposed /\ told = NothingTold
ReadsSpec == ReadsInit /\ [][ReadsNext]_readVars

-----------------------------------------------------------------------------
(* Every read returns the state of a prefix of the committed log (V29).     *)

RECURSIVE PartitionAfter(_)
PartitionAfter(end) ==
  CASE end = 0 -> InitialMovingPartition
    [] metadata[end].kind = "Partition" -> metadata[end].partition
    [] OTHER -> PartitionAfter(end - 1)

Says(m, p) == m.replicas = p.replicas /\ m.adding = p.adding /\ m.removing = p.removing

ReadsAreCommitted ==
  \A m \in told : \E end \in 0..Len(metadata) : Says(m, PartitionAfter(end))

(* For the twin: what is written is read, committed or not.                 *)
ReadAhead(stable, ahead) == ahead

(* Probe: what is read is the newest.                                       *)
NothingStaleIsRead == \A m \in told : Says(m, controller.partition)
=============================================================================
