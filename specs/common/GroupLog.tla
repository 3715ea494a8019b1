------------------------------ MODULE GroupLog ------------------------------
(***************************************************************************)
(* The log of the group coordinator: a partition of __consumer_offsets,     *)
(* compacted, as its leader sees it (TailLog).  All records of an operation *)
(* are appended in one batch (G2), so a record here is what the group is    *)
(* after the operation.                                                     *)
(*                                                                          *)
(* Committed: what every coordinator to come will have.  A new coordinator  *)
(* loads what its log has beyond that, too (G6): any of the tails.          *)
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

(* The high watermark passes what a replica holds only once the replica has *)
(* fetched it from this leader, which first has it truncate what is not the *)
(* leader's.  So nobody who may be elected holds more.  (TailLog leaves the *)
(* tails of earlier leaders, which is more than there can be.)              *)
Committed(log) == InitialLog(LastOf(log))

Loaded(log, tail) == WithTails(WithLeader(TailsOf(log), tail.records))
=============================================================================
