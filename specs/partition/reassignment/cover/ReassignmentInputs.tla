-------------------------- MODULE ReassignmentInputs --------------------------
(***************************************************************************)
(* The inputs with fields of the controller, for driving every edge of a    *)
(* graph: the same as `local` of reference/partition/reassignment/protocol.py, for    *)
(* brokers with one directory and targets of two replicas.                  *)
(***************************************************************************)
EXTENDS Reassignments

States(row, states) == {b \in Brokers : row.registrations[b].state \in states}

Inputs_FenceBroker(n, row) ==
  {[type |-> "FenceBroker", broker |-> b] : b \in States(row, {"Active", "Stopping"})}
Inputs_ShutDownBroker(n, row) ==
  {[type |-> "ShutDownBroker", broker |-> b] : b \in States(row, {"Active"})}
Inputs_UnregisterBroker(n, row) ==
  {[type |-> "UnregisterBroker", broker |-> b] :
     b \in States(row, {"Active", "Stopping", "Fenced"})}
Inputs_RegisterBroker(n, row) ==
  {[type |-> "RegisterBroker", broker |-> b, clean |-> clean, directories |-> Directories] :
     b \in States(row, {"Unregistered", "Fenced"}), clean \in BOOLEAN}
Inputs_UnfenceBroker(n, row) ==
  {[type |-> "UnfenceBroker", broker |-> b, failed |-> {}] : b \in States(row, {"Fenced"})}

(* What the leader proposes: one broker more in the ISR, or one less, also  *)
(* by the epoch before.                                                     *)
Inputs_AlterPartition(n, row) ==
  UNION {LET p == row.partitions[i]
         IN IF p.leader = Nobody THEN {}
            ELSE {[type |-> "AlterPartition", partition |-> i, source |-> p.leader,
                   isr |-> (p.isr \ {b}) \cup ({b} \ p.isr), leaderEpoch |-> p.leaderEpoch,
                   partitionEpoch |-> p.partitionEpoch - late] :
                    b \in RangeOf(p.replicas) \ {p.leader}, late \in {0, 1}} :
         i \in DOMAIN row.partitions}

(* Any list; of the longer ones those in order and their reverse.           *)
AnyLists == UNION {[1..size -> Brokers] : size \in 1..Cardinality(Brokers)}
InOrder(list) == \A i, j \in DOMAIN list : i < j => list[i] < list[j]
Reversed(list) == \A i, j \in DOMAIN list : i < j => list[i] > list[j]
Targets ==
  {list \in AnyLists : /\ \A i, j \in DOMAIN list : list[i] = list[j] => i = j
                       /\ (Len(list) < 3 \/ InOrder(list) \/ Reversed(list))}
Inputs_Reassign(n, row) ==
  {[type |-> "Reassign", partition |-> i, target |-> list] :
     i \in DOMAIN row.partitions, list \in Targets}
Inputs_CancelReassignment(n, row) ==
  {[type |-> "CancelReassignment", partition |-> i] : i \in DOMAIN row.partitions}
Inputs_ElectPartitionLeader(n, row) ==
  {[type |-> "ElectPartitionLeader", partition |-> i, election |-> election] :
     i \in DOMAIN row.partitions, election \in {"PREFERRED", "UNCLEAN"}}
==============================================================================
