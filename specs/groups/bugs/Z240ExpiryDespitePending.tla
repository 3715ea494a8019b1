--------------------- MODULE Z240ExpiryDespitePending -----------------------
(* Z240 (a mutant): an offset expires for whose partition a transaction has *)
(* sent another one (G35).                                                  *)
EXTENDS GroupRules

Z240_IsSpared(row, p) == FALSE
=============================================================================
