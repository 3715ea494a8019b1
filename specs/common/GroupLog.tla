------------------------------ MODULE GroupLog ------------------------------
(***************************************************************************)
(* The log of the group coordinator: a partition of __consumer_offsets,     *)
(* compacted, as its leader sees it (TailLog).  All records of an operation *)
(* are appended in one batch (G2), so a record here is what the group is    *)
(* after the operation.                                                     *)
(*                                                                          *)
(* committed: the record that every next coordinator will have. A new       *)
(* coordinator also loads the uncommitted records of its log (G6), which    *)
(* are any of the tails.                                                    *)
(*                                                                          *)
(* A tail is a record here, so that the set of them has members of a type.  *)
(***************************************************************************)
EXTENDS TailLog

TailsOf(log) == [log EXCEPT !.tails = {t.records : t \in @}]
WithTails(log) == [log EXCEPT !.tails = {[records |-> t] : t \in @}]

InitialLog(group) == WithTails(InitialTailLog(group))

(* What the coordinator works on: also what is not committed (G2).          *)
Newest(log) == LastOf(log)

Appended(log, group) == WithTails(WithAppended(TailsOf(log), <<group>>))

(* The high watermark passes a record only when each in-sync replica has    *)
(* fetched it from this leader, and has truncated all records that the      *)
(* leader lacks. So no replica that may be elected has other records.       *)
(* (TailLog keeps the tails of earlier leaders, which allows more than can  *)
(* happen.)                                                                 *)
Committed(log) == InitialLog(LastOf(log))

Loaded(log, tail) == WithTails(WithLeader(TailsOf(log), tail.records))
=============================================================================
