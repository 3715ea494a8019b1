------------------------- MODULE ControllerProperties -------------------------
(***************************************************************************)
(* What controllers promise, as named properties.  Law of this file: no     *)
(* decision of ControllerRules is used.                                     *)
(***************************************************************************)
EXTENDS ControllerSystem

Successes == {a \in clients.answers : a.error = "NONE"}
IsCommitted(end, epoch) ==
  end = 0 \/ (end \in 1 .. log.committed /\ log.records[end].epoch = epoch)

(* An answer rests on committed records alone. Misses: an old state.        *)
AnswersFromCommitted == \A a \in Successes : a.end # 0 /\ IsCommitted(a.end, a.epoch)

(* A decision with records that is answered is the record before its end.   *)
(* Misses: an answer that never comes.                                      *)
AnsweredDecisionStands ==
  \A a \in Successes : a.writes /\ a.end \in DOMAIN log.records =>
    /\ log.records[a.end].controller = a.controller
    /\ log.records[a.end].operation = a.operation

(* A request is answered once. Misses: a request that is never answered.    *)
AnsweredOnce ==
  \A a, b \in clients.answers :
    a.controller = b.controller /\ a.operation = b.operation => a = b

(* A standby has committed records alone, and nothing waits for it. Misses: *)
(* how much of them.                                                        *)
StandbyKnowsCommitted ==
  \A n \in Controllers : LET row == controllers[n] IN
    row.epoch = 0 => row.deferred = <<>> /\ IsCommitted(row.end, row.last)

(* A decision stands in the log where its controller expects it, after      *)
(* what that controller knew. Misses: a decision that is lost.              *)
DecisionFollowsKnown ==
  \A i \in DOMAIN log.records : LET record == log.records[i] IN
    record.controller # Nobody =>
      record.end = i /\ i > 1 /\ log.records[i - 1].epoch = record.epoch

(* One controller is active in an epoch. Misses: several in several epochs. *)
OneActiveInEpoch ==
  \A m, n \in Controllers :
    m # n /\ controllers[m].epoch # 0 => controllers[m].epoch # controllers[n].epoch

-----------------------------------------------------------------------------
(* Of steps.                                                                *)

(* What is committed stays. Misses: nothing.                                *)
CommittedStaysStep ==
  log'.committed >= log.committed
  /\ SubSeq(log'.records, 1, log.committed) = SubSeq(log.records, 1, log.committed)
CommittedStays == [][CommittedStaysStep]_vars
=============================================================================
