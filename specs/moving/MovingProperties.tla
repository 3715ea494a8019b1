-------------------------- MODULE MovingProperties ---------------------------
(***************************************************************************)
(* What is promised of the lists of a partition whose replicas move, and of *)
(* who holds it; of records and of elections what PartitionProperties say,  *)
(* but for WeakIsr and DeletedEverywhere, which do not know who is no       *)
(* replica, or was none for a while.  Nobody deletes records here.          *)
(* The reference has the same names (reference/moving/properties.py), and   *)
(* asks of the lists what ReassignmentProperties say as well.               *)
(*                                                                          *)
(* Law of this file: no decision of a rule is used.                         *)
(***************************************************************************)
EXTENDS MovingPartition, PartitionProperties

Listed(partition) == {partition.replicas[i] : i \in 1..Len(partition.replicas)}

IsrElrAreReplicas ==
  LET p == controller.partition IN
  /\ p.isr \cup p.elr \cup p.adding \cup p.removing \subseteq Listed(p)
  /\ p.adding \cap p.removing = {}

(* A broker that has read that it is no replica holds nothing (R6).         *)
LocalChangesSound ==
  \A n \in Brokers :
    (rows[n].status = "Running" /\ n \notin Listed(rows[n].image.partition)) =>
      rows[n].log = <<>> /\ rows[n].role = "None"
=============================================================================
