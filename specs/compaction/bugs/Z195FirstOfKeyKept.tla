------------------------- MODULE Z195FirstOfKeyKept --------------------------
(* Z195: the cleaner keeps the first record of a key.                       *)
EXTENDS CompactionRules

Z195_IsSuperseded(row, at, key) ==
  \E earlier \in (row.cleaned + 1)..row.cleanTo : earlier < at /\ key \in row.log[earlier].kept
==============================================================================
