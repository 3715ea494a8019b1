------------------------ MODULE Z192ChangesConfigured ------------------------
(* Z192 (mutant): voters are added and removed under kraft.version 0, where*)
(* others read them from their configuration.                              *)
EXTENDS VoterRules

Z192_ChangesVoters(row) == TRUE
==============================================================================
