------------------------ MODULE Z101ExpiryInRebalance -----------------------
(* Z101 (KAFKA-13636): a group that rebalances is taken to subscribe to     *)
(* nothing (G35).                                                           *)
EXTENDS GroupRules

Z101_MayExpire(row) == row.group # "Stable"
=============================================================================
