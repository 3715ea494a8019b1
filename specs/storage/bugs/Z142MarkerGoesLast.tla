------------------------- MODULE Z142MarkerGoesLast -------------------------
(* Z142 (KAFKA-10471): the marker of a clean stop goes after the load.     *)
EXTENDS StorageRules

Z142_MarkerGoesFirst == FALSE
=============================================================================
