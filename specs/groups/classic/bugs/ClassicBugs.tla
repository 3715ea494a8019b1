----------------------------- MODULE ClassicBugs -----------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS ClassicRules

(* Z99 (KAFKA-13419, KAFKA-14639): only claims of the largest generation    *)
(* count; what a member has that missed a generation is free (G44).         *)
Z99_OwnersByClaim(claims, p) ==
  {c.member : c \in {c \in ClaimsOf(claims, p) :
                       \A d \in claims : d.generation <= c.generation}}

(* Z185: a stable group returns an assignment at once, even if its loaded   *)
(* records are not committed (G39).                                         *)
Z185_IsTold(row) == row.state = "Stable" \/ row.log.leader = <<>>
==============================================================================
