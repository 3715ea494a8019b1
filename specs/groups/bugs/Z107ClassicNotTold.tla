------------------------- MODULE Z107ClassicNotTold -------------------------
(* Z107: a classic member looks whether there is a newer target, which      *)
(* perhaps nobody has made (G46).                                           *)
EXTENDS GroupRules

Z107_TellsToJoin(row, member, held) ==
  \/ member.epoch < row.targetEpoch
  \/ member.assigned # member.target /\ member.target \cap held = {}
=============================================================================
