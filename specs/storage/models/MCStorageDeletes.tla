-------------------------- MODULE MCStorageDeletes ---------------------------
(***************************************************************************)
(* Records that a client deletes (DeleteRecords): the log start rises, a    *)
(* checkpoint records it, and the client receives a confirmation (D9).      *)
(* Nothing changes on the disk below the log start, because whole segments  *)
(* are deleted later. Only flushed records are deleted, so no power loss    *)
(* moves the log's end below its start. Nothing is truncated.               *)
(***************************************************************************)
EXTENDS MCStorage

VARIABLES
  start,      \* the log start, in memory
  written,    \* the one in the checkpoint, which is replaced at once (D6)
  deleting,   \* up to where a client deletes that has no answer yet, or 0
  told        \* the deletions confirmed to clients end here

deleteVars == <<mcVars, start, written, deleting, told>>

Deletes ==
  /\ up /\ todo = <<>> /\ deleting = 0
  /\ \E offset \in (start + 1)..recoveryPoint : start' = offset /\ deleting' = offset
  /\ UNCHANGED <<mcVars, written, told>>

(* Once a minute, or before the confirmation.                               *)
WritesStart ==
  /\ up /\ written # start
  /\ written' = start
  /\ UNCHANGED <<mcVars, start, deleting, told>>

Tells ==
  /\ deleting # 0
  /\ LogStartDurable => written >= deleting
  /\ told' = deleting /\ deleting' = 0
  /\ UNCHANGED <<mcVars, start, written>>

(* A checkpoint of the recovery point, as a clean stop writes it, comes with *)
(* one of the log start; a start reads that.                                *)
Else ==
  /\ MCNext
  /\ written' = IF up' /\ todo # <<>> /\ todo[1].op = "checkpoint" THEN start ELSE written
  /\ start' = IF ~up /\ up' THEN written ELSE start
  /\ deleting' = IF up' THEN deleting ELSE 0
  /\ UNCHANGED told

DeletesInit == MCInit /\ start = 0 /\ written = 0 /\ deleting = 0 /\ told = 0
DeletesSpec == DeletesInit /\ [][Deletes \/ WritesStart \/ Tells \/ Else]_deleteVars

-----------------------------------------------------------------------------
(* Records whose deletion was confirmed do not come back.                   *)
DeletedStaysDeleted == up => start >= told

HwWithinLog == up => start <= Len(log)
=============================================================================
