----------------------- MODULE Z247FirstOfNoSequence ------------------------
(* Z247 (a mutant): the first batch of an epoch that only a marker has told *)
(* of has any sequence number (X13).                                        *)
EXTENDS TransactionRules

Z247_IsInSequence(producer, m) ==
  producer.sequence = Unknown \/ m.sequence = producer.sequence
=============================================================================
