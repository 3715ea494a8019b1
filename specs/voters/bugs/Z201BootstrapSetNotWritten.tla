--------------------- MODULE Z201BootstrapSetNotWritten ----------------------
(* Z201: no leader writes the set of the bootstrap snapshot, and who was    *)
(* formatted without it does not hear of it.                                *)
EXTENDS VoterRules

Z201_WritesBootstrapSet(row) == FALSE
==============================================================================
