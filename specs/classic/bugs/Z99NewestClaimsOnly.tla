------------------------ MODULE Z99NewestClaimsOnly -------------------------
(* Z99 (KAFKA-13419, KAFKA-14639): only claims of the largest generation    *)
(* count; what a member has that missed a generation is free (G44).         *)
EXTENDS ClassicRules

Z99_OwnersByClaim(claims, p) ==
  {c.member : c \in {c \in ClaimsOf(claims, p) :
                       \A d \in claims : d.generation <= c.generation}}
=============================================================================
