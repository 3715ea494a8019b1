------------------------- MODULE Z221OffsetsOutlive --------------------------
(* Z221: a coordinator that has loaded does not look which topics were      *)
(* deleted meanwhile (G36).                                                 *)
EXTENDS GroupRules

Z221_ForgetsWhenLoaded == FALSE
=============================================================================
