------------------------ MODULE Z72AnswersWhenDeposed ------------------------
(* Z72 (Apache Kafka 4.3.1): a coordinator that has not heard of its        *)
(* successor answers what needs no append (X2, X5).                         *)
EXTENDS TransactionRules

Z72_AnswersWhenDeposed == TRUE
=============================================================================
