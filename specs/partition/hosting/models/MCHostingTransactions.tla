------------------------ MODULE MCHostingTransactions ------------------------
(***************************************************************************)
(* As MCHosting, and metadata transactions are aborted: one at a time,      *)
(* until it has been read.                                                  *)
(***************************************************************************)
EXTENDS MCHosting

MCTNext ==
  \/ MCNext
  \/ Becomes(Step_HandleTransactionAborted(1, host, None)) /\ UNCHANGED spent

MCTSpec == MCInit /\ [][MCTNext]_mcVars

-----------------------------------------------------------------------------
(* A probe that must be violated: what follows an Abort is read with it.    *)

NoAbortedReadProbe ==
  [][~(/\ host.aborted # Undefined /\ host'.aborted = Undefined
       /\ host.image.partitionEpoch > host.aborted
       /\ host'.applied # host.applied)]_mcVars
=============================================================================
