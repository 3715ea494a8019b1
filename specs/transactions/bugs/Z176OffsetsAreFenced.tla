------------------------ MODULE Z176OffsetsAreFenced ------------------------
(* Z176: what a group refuses of offsets ends the use of their producer,    *)
(* which could abort and go on (X29, X36; KIP-447).                         *)
EXTENDS TransactionRules

Z176_AfterOffsetsError(error) ==
  CASE error \in Retriable -> "Retry"
    [] error = "INVALID_TXN_STATE" -> "Failed"
    [] error \in {"TRANSACTION_ABORTABLE", "GROUP_AUTHORIZATION_FAILED"} -> "Abortable"
    [] error \in FencingErrors \cup {"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID",
                                     "FENCED_INSTANCE_ID"} -> "Fenced"
    [] OTHER -> "Unusable"
=============================================================================
