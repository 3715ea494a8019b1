------------------------- MODULE Z78OldIdentityTold --------------------------
(* Z78 (KAFKA-18660): who ends its transaction is told the identity with    *)
(* which it ended, and not the next one (X21).                              *)
EXTENDS TransactionRules

Z78_EndAnsweredEpoch(epoch) == epoch
=============================================================================
