------------------------- MODULE Z220PendingOutlives ------------------------
(* Z220 (a mutant): what transactions have sent of a topic stays when it is *)
(* deleted (G36).                                                           *)
EXTENDS GroupRules

Z220_PendingAfterTombstone(row, p) == row.pending
=============================================================================
