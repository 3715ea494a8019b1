------------------------- MODULE Z191UpgradeUnheard --------------------------
(* Z191 (mutant): kraft.version is upgraded before the leader has heard of *)
(* each voter in its epoch: of some it knows no directory.                 *)
EXTENDS VoterRules

Z191_EveryVoterHeard(n, row) == TRUE
==============================================================================
