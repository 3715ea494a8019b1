------------------------------ MODULE TailLog -------------------------------
(***************************************************************************)
(* A replicated, compacted log of one key, as the state machine on its      *)
(* leader sees it: a record that is committed, and what may follow it.      *)
(* No replicas, fetches or messages: the tails are what a replica that may  *)
(* be elected can hold beyond the committed record.  So the next leader may *)
(* lack what the last one appended, and may hold what an earlier leader     *)
(* appended and the last one never saw: an in-sync replica that has not     *)
(* truncated yet.                                                           *)
(*                                                                          *)
(* That clean elections of PartitionReplication refine this module is       *)
(* argued: who may be elected holds what is committed                       *)
(* (LeaderCandidateCompleteness), and each log is a prefix of one that some *)
(* leader had; the tails have all prefixes.                                 *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

(* committed: the last committed record.  leader: what the leader's log has *)
(* after it.  tails: what the log of any replica that may lead has.         *)
InitialTailLog(record) == [committed |-> record, leader |-> <<>>, tails |-> {<<>>}]

LastOf(log) == IF log.leader = <<>> THEN log.committed ELSE log.leader[Len(log.leader)]

WithAppended(log, records) ==
  [log EXCEPT !.leader = @ \o records, !.tails = @ \cup {log.leader \o records}]

(* The high watermark reaches the end of the leader's log: every replica in *)
(* the ISR has fetched from this leader up to there, and was cut to its log *)
(* before that fetch counted (P4, P14).  Nobody who lacks any of it, or has *)
(* anything else behind it, can be elected any more.                        *)
WithCommitted(log) == InitialTailLog(LastOf(log))

(* A new leader learns that what it found is committed: nobody who lacks    *)
(* it can be elected any more.  Of what others have behind it that says     *)
(* nothing: its high watermark may have been there before it led.           *)
WithFound(log) ==
  LET end == Len(log.leader)
      holding == {t \in log.tails : Len(t) >= end /\ SubSeq(t, 1, end) = log.leader}
  IN [committed |-> LastOf(log), leader |-> <<>>,
      tails |-> {SubSeq(t, end + 1, Len(t)) : t \in holding}]

WithLeader(log, tail) == [log EXCEPT !.leader = tail]
=============================================================================
