----------------------------- MODULE ClassicBugs -----------------------------
(* Known bugs, by the numbers of bugs.toml in the reference: what each of   *)
(* them puts in the place of an operator is named after both.               *)
EXTENDS ClassicRules

(* Z99 (KAFKA-13419, KAFKA-14639): only claims of the largest generation    *)
(* count; what a member has that missed a generation is free (G44).         *)
Z99_OwnersByClaim(claims, p) ==
  {c.member : c \in {c \in ClaimsOf(claims, p) :
                       \A d \in claims : d.generation <= c.generation}}

(* Z185: who asks a group that is stable for its assignment is told it,     *)
(* also while what was loaded of it is not committed (G39).                 *)
Z185_IsTold(row) == row.state = "Stable" \/ row.log.leader = <<>>
==============================================================================
