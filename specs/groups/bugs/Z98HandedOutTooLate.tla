------------------------- MODULE Z98HandedOutTooLate ------------------------
(* Z98 (KAFKA-16460): records are handed out after the commit that goes     *)
(* before the callbacks (G24).                                              *)
EXTENDS GroupRules

Z98_MayHandOut(row, p) == TRUE
=============================================================================
