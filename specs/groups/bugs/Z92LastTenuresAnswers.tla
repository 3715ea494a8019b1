------------------------- MODULE Z92LastTenuresAnswers -----------------------
(* Z92 (KAFKA-20634): a broker that led the log, and follows now, takes the *)
(* high watermark of what it fetches for that of its own records (G5).      *)
EXTENDS GroupRules

Z92_WaitingAfterMove(waiting) == waiting
=============================================================================
