------------------------- MODULE DirectoryProperties ------------------------
(***************************************************************************)
(* What is promised of replicas in directories that fail; all else is       *)
(* promised by MovingProperties.  The reference has the same names          *)
(* (reference/directories/properties.py).                                   *)
(*                                                                          *)
(* Law of this file: no decision of a rule is used.                         *)
(***************************************************************************)
EXTENDS DirectoryPartition, MovingProperties

(* A broker that has read that it is no replica holds nothing, in no        *)
(* directory (R6, R22).                                                     *)
NothingIsHeld ==
  \A n \in Brokers :
    (rows[n].status = "Running" /\ n \notin Listed(rows[n].image.partition)) =>
      rows[n].directory = 0

(* No leader is in a directory of which the controller has heard that it    *)
(* has failed.                                                              *)
OfflineDirNeverLeads ==
  LET p == controller.partition
  IN p.leader # Nobody =>
       p.directories[p.leader] \in controller.disks[p.leader].online \cup {0}

(* Who serves has its log in a directory that has not failed.               *)
ServesFromOnline ==
  \A n \in Brokers : rows[n].role # "None" => rows[n].directory \in rows[n].online
=============================================================================
