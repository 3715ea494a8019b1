------------------------ MODULE Z83AnsweredBeforeAll -------------------------
(* Z83 (KAFKA-17877): a request with markers for several partitions is      *)
(* answered when the first of them is written (X23).                        *)
EXTENDS TransactionRules

Z83_MarkedBy(row, m) == row.toMark
=============================================================================
