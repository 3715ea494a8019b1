----------------------- MODULE Z166FailedStaysPending ------------------------
(* Z166 (Apache Kafka 4.3.1): a transition whose record cannot be made      *)
(* stays under way, as what takes it back is where an append ends, and none *)
(* began (X3).  Here each append that fails does so.                        *)
EXTENDS TransactionRules

Z166_IsTakenBack(row) == FALSE
=============================================================================
