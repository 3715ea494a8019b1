-------------------------- MODULE Z17DiskReplaced ---------------------------
(* Z17 (kraft.version 0): a voter is its id, whatever its disk has.          *)
EXTENDS VoterRules

Z17_MayReturnEmpty(row) == TRUE
=============================================================================
