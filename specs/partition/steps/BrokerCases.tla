---------------------------- MODULE BrokerCases -----------------------------
(***************************************************************************)
(* Cases of a broker's handlers, as actions of their own.  A step may be    *)
(* judged by the case that its handler was in alone, and on no more fields  *)
(* than that mentions; in every other case it is disabled, so that a step   *)
(* which is put into a wrong case is refused.                               *)
(***************************************************************************)
EXTENDS BrokerLifecycle

Step_HandleMetadataUpdate_Aside(n, row, input) ==
  IF TouchesPartition(row, input) THEN Disabled ELSE ApplyAlone(row, input)

Step_HandleHeartbeatResponse_Unmoved(n, row, m) ==
  IF MayMove(row, m) THEN Disabled ELSE NoteHeartbeat(row, m)

Step_HandleReplicaFetchResponse_Unused(n, row, m) ==
  IF MayChangeLog(row, m) THEN Disabled ELSE NoteFetched(row, m)
=============================================================================
