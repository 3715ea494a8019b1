---------------------------- MODULE MCVotersDisks ----------------------------
(***************************************************************************)
(* As MCVoters, with a crash that is apart from the start after it: of that *)
(* node, or with an empty disk in its place.                                *)
(***************************************************************************)
EXTENDS MCVoters

Disks(n) ==
  \/ /\ Running(rows[n]) /\ Spend("crashes", MaxCrashes)
     /\ rows' \in Becomes(n, Step_HandleCrash(n, rows[n], [keep |-> Len(rows[n].log)]))
  \/ /\ ~Running(rows[n]) /\ UNCHANGED spent
     /\ rows' \in Becomes(n, Step_HandleRestart(n, rows[n], None))
                   \cup Becomes(n, Step_HandleReplaceDisk(n, rows[n], None))

MCDNext ==
  /\ \E n \in Nodes :
       (Running(rows[n]) /\ ((Free(n) /\ UNCHANGED spent) \/ Budgeted(n))) \/ Disks(n)
  /\ rows' # rows
  /\ committed' = CommittedAfter(committed, rows')

MCDSpec == MCInit /\ [][MCDNext]_mcVars
=============================================================================
