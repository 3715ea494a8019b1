------------------------ MODULE Z190ForgetsListeners -------------------------
(* Z190 (mutant): a set that is made of another one has only what the one  *)
(* who asks for it says of listeners.                                      *)
EXTENDS VoterRules

Z190_MovedAfter(row, voters, told) == told \cap voters
==============================================================================
