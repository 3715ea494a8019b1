-------------------------- MODULE MovingProperties ---------------------------
(***************************************************************************)
(* Named properties of the lists of a partition whose replicas move, and of *)
(* the brokers that have it. Records and elections have the properties of   *)
(* PartitionProperties, except WeakIsr and DeletedEverywhere, which do not  *)
(* know that a broker is no replica, or was none for a while. No records    *)
(* are deleted here. The reference has the same names                       *)
(* (reference/partition/moving/properties.py), and also checks the properties of      *)
(* ReassignmentProperties on the lists.                                     *)
(*                                                                          *)
(* Law of this file: no decision of a rule is used.                         *)
(***************************************************************************)
EXTENDS MovingPartition, PartitionProperties

Listed(partition) == {partition.replicas[i] : i \in 1..Len(partition.replicas)}

(* Members of ISR, ELR, adding and removing lists are replicas, and no      *)
(* replica is both added and removed. Misses: a replica that is counted and *)
(* lacks records.                                                           *)
IsrElrAreReplicas ==
  LET p == controller.partition IN
  /\ p.isr \cup p.elr \cup p.adding \cup p.removing \subseteq Listed(p)
  /\ p.adding \cap p.removing = {}

(* A running broker that has read that it is no replica has no log and no   *)
(* role (R6). Misses: a broker that has not read it, or is starting.        *)
LocalChangesSound ==
  \A n \in Brokers :
    (rows[n].status = "Running" /\ n \notin Listed(rows[n].image.partition)) =>
      rows[n].log = <<>> /\ rows[n].role = "None"
=============================================================================
