----------------------- MODULE Z22AnswersBeforeCommit -----------------------
(* Z22: an answer goes out when its records are written.                    *)
EXTENDS PartitionRules

Z22_AnswersBeforeCommit == TRUE
=============================================================================
