------------------------ MODULE Z168AbortedNotTold -------------------------
(* Z168: a reader of committed records is not told which transactions were  *)
(* aborted: the index of its leader has none of them (X18).                 *)
EXTENDS TransactionRules

Z168_AbortedAmong(aborted, offset, end) == {}
============================================================================
