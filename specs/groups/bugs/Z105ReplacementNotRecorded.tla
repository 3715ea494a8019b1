--------------------- MODULE Z105ReplacementNotRecorded ---------------------
(* Z105 (KAFKA-10284): the new id of a static member is in memory only      *)
(* (G13).                                                                   *)
EXTENDS GroupRules

Z105_RecordsReplacement == FALSE
=============================================================================
