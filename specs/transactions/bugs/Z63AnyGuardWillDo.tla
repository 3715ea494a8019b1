------------------------- MODULE Z63AnyGuardWillDo --------------------------
(* Z63: guards are not unique.  What the coordinator said of an earlier     *)
(* transaction lets its late batch in while another one stands there (X13). *)
EXTENDS TransactionRules

Z63_IsGuarded(guard, v) == guard # Unknown
=============================================================================
