------------------------- MODULE DirectoryProperties ------------------------
(***************************************************************************)
(* Named properties of replicas in directories that fail, in addition to    *)
(* those of MovingProperties. The reference has the same names              *)
(* (reference/partition/directories/properties.py).                                   *)
(*                                                                          *)
(* Law of this file: no decision of a rule is used.                         *)
(***************************************************************************)
EXTENDS DirectoryPartition, MovingProperties

(* A running broker that has read that it is no replica has the partition   *)
(* in no directory (R6, R22). Misses: a broker that has not read it, or is  *)
(* starting.                                                                *)
NothingIsHeld ==
  \A n \in Brokers :
    (rows[n].status = "Running" /\ n \notin Listed(rows[n].image.partition)) =>
      rows[n].directory = 0

(* The leader's directory is not one that the controller knows as failed.   *)
(* Misses: a failed directory that was not reported.                        *)
OfflineDirNeverLeads ==
  LET p == controller.partition
  IN p.leader # Nobody =>
       p.directories[p.leader] \in controller.disks[p.leader].online \cup {0}

(* A broker that leads or follows has its log in a directory that has not   *)
(* failed. Misses: reads before the failure was noticed.                    *)
ServesFromOnline ==
  \A n \in Brokers : rows[n].role # "None" => rows[n].directory \in rows[n].online
=============================================================================
