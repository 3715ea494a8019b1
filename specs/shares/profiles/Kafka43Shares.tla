--------------------------- MODULE Kafka43Shares ---------------------------
(***************************************************************************)
(* A share partition as Apache Kafka runs it, where that is not what the    *)
(* specs say is right; as Kafka43 is of the quorum, and under the same law. *)
(***************************************************************************)
EXTENDS ShareHandlers, TLC

CONSTANT Entries

(* window-stays: the log start moves the start offset, and not the window   *)
(* of gaps.                                                                 *)
Kafka_MovedGap(row, start) ==
  IF "window-stays" \in Entries THEN row.gap ELSE LargerOf(row.gap, start)

(* archived-unlocked: what the log start archives has no lock any more.     *)
Kafka_MovedStart(row) ==
  LET kept == WindowIsActive(row) /\ row.end > row.logStart
  IN IF row.logStart <= row.start THEN row
     ELSE [row EXCEPT !.start = row.logStart, !.end = LargerOf(@, row.logStart),
                      !.gap = IF kept THEN Kafka_MovedGap(row, row.logStart) ELSE 0,
                      !.gapEnd = IF kept THEN @ ELSE 0,
                      !.cells = [o \in Offsets |->
                         IF o < row.logStart /\ @[o].state = "Available"
                         THEN [@[o] EXCEPT !.state = "Archived", !.final = TRUE,
                                           !.expired = @ /\ "archived-unlocked" \notin Entries]
                         ELSE @[o]]]

(* late-acknowledgement: all that lies before the start offset is answered  *)
(* without an error.                                                        *)
Kafka_Skips(row, offset) ==
  offset < row.start /\ ("late-acknowledgement" \in Entries \/ offset < row.logStart)

(* empty-window: a window in which no gap is left is dropped.               *)
Kafka_Acquired(row, offsets, member) ==
  LET last == CHOOSE o \in offsets : \A p \in offsets : p <= o
      beyond == last >= row.end
      kept == /\ WindowIsActive(row) /\ ~beyond
              /\ "empty-window" \in Entries => last + 1 < row.end
  IN [row EXCEPT !.cells = [o \in Offsets |->
                    IF o \notin offsets THEN @[o]
                    ELSE [NoCell EXCEPT !.state = "Acquired", !.count = @ + row.cells[o].count + 1,
                                        !.member = member]],
                 !.end = IF beyond THEN last + 1 ELSE @,
                 !.gap = IF kept THEN last + 1 ELSE 0,
                 !.gapEnd = IF kept THEN @ ELSE 0]

(* names-refusals: a request beyond the end is refused by the last          *)
(* record that is cached up to its end.  throws: a request across the start *)
(* offset, before which nothing is cached, fails with an exception.         *)
Kafka_RefusedAs(row, m) ==
  LET cached == {o \in Offsets : row.cells[o].state # "None" /\ o <= m.last}
      known == {o \in cached : o <= LargerOf(m.first, row.start)}
  IN CASE "throws" \in Entries /\ known = {} /\ m.first < row.start /\ row.start <= m.last ->
            "UNKNOWN_SERVER_ERROR"
       [] "names-refusals" \notin Entries ->
            IF m.last >= row.end THEN "INVALID_REQUEST" ELSE "INVALID_RECORD_STATE"
       [] known # {} /\ m.last \notin cached -> "INVALID_REQUEST"
       [] OTHER -> "INVALID_RECORD_STATE"

(* held-back: what is cached before the start offset holds the start back   *)
(* as long as it is not done.  start-returns: the start goes back to the    *)
(* end of what was cached, or to a window, that the log start has passed.   *)
Kafka_Advanced(row) ==
  LET back == "start-returns" \in Entries
      cached == {o \in Offsets : row.cells[o].state # "None"}
      from == IF "held-back" \in Entries THEN cached ELSE {o \in cached : o >= row.start}
      below == {o \in cached : o <= row.start}
      at == {o \in below : \A p \in below : p <= o}
      holding == {o \in from : \/ ~MayPass(row.cells[o])
                               \/ WindowIsActive(row) /\ o >= row.gap}
      first == IF holding = {} THEN Records + 1
               ELSE CHOOSE o \in holding : \A p \in holding : o <= p
      last == IF from = {} THEN 0 ELSE CHOOSE o \in from : \A p \in from : p <= o
      further == IF holding = {} THEN last + 1 ELSE LargerOf(row.start, first)
      reached == IF WindowIsActive(row) /\ row.gap < further THEN row.gap ELSE further
      to == IF back THEN reached ELSE LargerOf(row.start, reached)
  IN IF \/ at = {} \/ \E o \in at : ~MayPass(row.cells[o])
        \/ \A o \in from : o >= first
     THEN row
     ELSE [row EXCEPT !.start = to,
                      !.end = IF holding # {} THEN @ ELSE to,
                      !.cells = [o \in Offsets |-> IF o < first THEN NoCell ELSE @[o]]]

(* no-incarnations: the share coordinator knows leader epochs only; a read  *)
(* in a known one is not recorded.  refusals-wait: a refusal waits for what *)
(* is not committed, as other answers do.                                   *)
Numbered == "no-incarnations" \notin Entries
Refused(row, answer) ==
  IF "refusals-wait" \in Entries THEN WaitsOrTells(row, answer) ELSE Outcome(row, {answer})
Kafka_HandleReadShareGroupState(n, row, m) ==
  LET stored == Newest(row.log)
      recorded == IF Numbered THEN ReadIsRecorded(stored, m.incarnation)
                  ELSE m.leaderEpoch > stored.leaderEpoch
      answer == AnswersRead(stored, m, "NONE")
  IN CASE \/ m.leaderEpoch < stored.leaderEpoch
          \/ Numbered /\ m.incarnation < stored.incarnation ->
            Refused(row, AnswersRead(InitialStored, m, "FENCED_LEADER_EPOCH"))
       [] recorded -> WithRecord(row, [stored EXCEPT !.leaderEpoch = m.leaderEpoch,
                                                     !.incarnation = m.incarnation], answer)
       [] OTHER -> WaitsOrTells(row, answer)
Kafka_HandleWriteShareGroupState(n, row, m) ==
  LET stored == Newest(row.log)
      accepted == IF Numbered THEN WriteAccepted(stored, m)
                  ELSE m.leaderEpoch >= stored.leaderEpoch /\ m.stateEpoch >= stored.stateEpoch
  IN IF accepted THEN WithRecord(row, Merged(stored, m), AnswersWrite(m, "NONE"))
     ELSE Refused(row, AnswersWrite(m, IF m.stateEpoch < stored.stateEpoch
                                       THEN "FENCED_STATE_EPOCH" ELSE "FENCED_LEADER_EPOCH"))

(* late-start: the start offset of a late write is stored.                  *)
Kafka_StoredStart(stored, write) ==
  CASE write.start = 0 -> stored.start
    [] "late-start" \in Entries -> write.start
    [] OTHER -> LargerOf(stored.start, write.start)

(* removes-by-key: a refused write removes the present share partition, if  *)
(* the same broker led when it was made. Two brokers lead in turn.          *)
Kafka_FencingRemoves(row, write) ==
  \/ write.incarnation = row.incarnation
  \/ "removes-by-key" \in Entries /\ write.leaderEpoch % 2 = row.leaderEpoch % 2
=============================================================================
