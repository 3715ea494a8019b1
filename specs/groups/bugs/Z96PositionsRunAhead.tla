------------------------ MODULE Z96PositionsRunAhead ------------------------
(* Z96 (KAFKA-18641): what has been fetched is committed, also what was     *)
(* not handed out yet (G29).                                                *)
EXTENDS GroupRules

Z96_Committable(position) == position.fetched
=============================================================================
