---------------------------- MODULE ShareHandlers ----------------------------
(***************************************************************************)
(* One share partition: its leader, the share coordinator, consumers        *)
(* (KIP-932; docs/reference/shares.md).                                     *)
(*                                                                          *)
(* The leader's row stands for the broker that leads the partition,         *)
(* at any time:                                                             *)
(*                                                                          *)
(*   highWatermark  the last offset that may be read                        *)
(*   logStart       the first offset that the log has                       *)
(*   leaderEpoch    of the partition                                        *)
(*   incarnation    the number of the share partition's object; a broker    *)
(*                  may replace it in the same leader epoch (SH1)           *)
(*   stateEpoch     as it was read                                          *)
(*   phase          "Empty", "Initializing" (a read is under way),          *)
(*                  "Resolving" (a start is being stored), "Active"         *)
(*   start, end     the offsets in flight: from start, before end           *)
(*   cells          cells[o]: what is cached of offset o                    *)
(*   gap, gapEnd    the window of a load's gaps, or 0                       *)
(*   pending        acknowledgements whose write is under way, those of     *)
(*                  earlier incarnations too                                *)
(*                                                                          *)
(* A cell: state "None" (not cached), "Available", "Acquired",              *)
(* "Acknowledged", "Archived"; count of deliveries; member, the holder;     *)
(* moving, its write is under way, and previous, the holder if that fails;  *)
(* expired, the lock ran out meanwhile; final, archived by the log start.   *)
(*                                                                          *)
(* The coordinator's row: leaderEpoch of its partition; log, a TailLog of   *)
(* stored states (start, stateEpoch, leaderEpoch, incarnation, cells);      *)
(* waiting, answers that wait for the commit.                               *)
(*                                                                          *)
(* A consumer's row: leaderEpoch, of the last answer; held, the records it  *)
(* was handed; asked, the acknowledgements without an answer; done, the     *)
(* offsets whose ACCEPT or REJECT was answered without an error.            *)
(***************************************************************************)
EXTENDS ShareRules, GroupLog, TLC

CONSTANTS MaxLeaders, MaxIncarnations, MaxCoordinators

Coordinator == 0
Leader == -2
Offsets == 1 .. Records

NoCell == [state |-> "None", count |-> 0, member |-> Nobody, moving |-> FALSE,
           previous |-> Nobody, expired |-> FALSE, final |-> FALSE]
NoStored == [state |-> "None", count |-> 0]

InitialStored ==
  [start |-> IF Latest THEN 0 ELSE 1, stateEpoch |-> 1, leaderEpoch |-> 0, incarnation |-> 0,
   cells |-> [o \in Offsets |-> NoStored]]
InitialShareCoordinator == [leaderEpoch |-> 1, log |-> InitialLog(InitialStored), waiting |-> {}]

(* In a group with the reset "latest", the first batch was there before.    *)
EndOfBatch(base) ==
  LET later == {b \in Bases : b > base} IN
  IF later = {} THEN Records ELSE (CHOOSE b \in later : \A c \in later : b <= c) - 1
BaseOf(offset) == CHOOSE b \in Bases : b <= offset /\ offset <= EndOfBatch(b)

InitialLeader ==
  [highWatermark |-> IF Latest THEN EndOfBatch(1) ELSE Records, logStart |-> 1,
   leaderEpoch |-> 1, incarnation |-> 1, stateEpoch |-> 0, phase |-> "Empty",
   start |-> 1, end |-> 1, cells |-> [o \in Offsets |-> NoCell], gap |-> 0, gapEnd |-> 0,
   pending |-> {}]
InitialConsumer == [leaderEpoch |-> 0, held |-> {}, asked |-> {}, done |-> {}]

Outcome(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Ignored(row, why) == {[row |-> row, sent |-> {}, ignored |-> why]}
Disabled == {}

-----------------------------------------------------------------------------
(* The share partition as functions of its row.                             *)

WindowIsActive(row) == row.gap # 0 /\ row.gapEnd = row.end

(* SH1.  A new object, which has loaded nothing.                            *)
Fresh(row) ==
  [row EXCEPT !.incarnation = @ + 1, !.stateEpoch = 0, !.phase = "Empty", !.start = 1, !.end = 1,
              !.cells = [o \in Offsets |-> NoCell], !.gap = 0, !.gapEnd = 0]

(* SH5, SH6.                                                                *)
NextFetch(row) ==
  LET uncached == {o \in Offsets : /\ WindowIsActive(row) /\ row.gap <= o /\ o < row.end
                                   /\ row.cells[o].state = "None"}
      free == {o \in Offsets : /\ row.start <= o /\ o < row.end
                               /\ row.cells[o].state = "Available" /\ ~row.cells[o].moving}
      found == uncached \cup free
  IN IF found = {} THEN row.end ELSE CHOOSE o \in found : \A p \in found : o <= p

(* SH25.  The cells from an offset on that are done, one after the other.   *)
RECURSIVE PassedTo(_, _)
PassedTo(row, o) ==
  IF o >= row.end \/ (WindowIsActive(row) /\ o >= row.gap) THEN o
  ELSE IF row.cells[o].state = "None" \/ MayPass(row.cells[o]) THEN PassedTo(row, o + 1)
  ELSE o

Advanced(row) ==
  IF row.start >= row.end \/ row.cells[row.start].state = "None" THEN row
  ELSE LET to == AdvancedStart(row, PassedTo(row, row.start)) IN
       [row EXCEPT !.start = to,
                   !.cells = [o \in Offsets |-> IF o < to THEN NoCell ELSE @[o]]]

(* SH7.  A read was before the log's start.                                 *)
MovedStart(row) ==
  IF row.logStart <= row.start THEN row
  ELSE [row EXCEPT !.start = row.logStart, !.end = LargerOf(@, row.logStart),
                   !.gap = IF WindowIsActive(row) /\ row.end > row.logStart
                           THEN MovedGap(row, row.logStart) ELSE 0,
                   !.gapEnd = IF WindowIsActive(row) /\ row.end > row.logStart THEN @ ELSE 0,
                   !.cells = [o \in Offsets |->
                      IF o < row.logStart /\ @[o].state = "Available"
                      THEN [@[o] EXCEPT !.state = "Archived", !.final = TRUE] ELSE @[o]]]

(* SH8, SH9.  What is acquired of the batch that has an offset.             *)
Acquirable(row, offset) ==
  {o \in AcquirableFrom(row, BaseOf(offset)) .. EndOfBatch(BaseOf(offset)) :
     /\ MayAcquire(row, o)
     /\ \/ row.cells[o].state = "None"
        \/ row.cells[o].state = "Available" /\ ~row.cells[o].moving}

Acquired(row, offsets, member) ==
  LET last == CHOOSE o \in offsets : \A p \in offsets : p <= o
      beyond == last >= row.end
      kept == WindowIsActive(row) /\ ~beyond
  IN [row EXCEPT !.cells = [o \in Offsets |->
                    IF o \notin offsets THEN @[o]
                    ELSE [NoCell EXCEPT !.state = "Acquired", !.count = @ + row.cells[o].count + 1,
                                        !.member = member]],
                 !.end = IF beyond THEN last + 1 ELSE @,
                 !.gap = IF kept THEN last + 1 ELSE 0,
                 !.gapEnd = IF kept THEN @ ELSE 0]

(* SH26.                                                                    *)
WriteOf(row, cells) ==
  [type |-> "WriteShareGroupState", source |-> Leader, destination |-> Coordinator,
   leaderEpoch |-> row.leaderEpoch, incarnation |-> row.incarnation,
   stateEpoch |-> row.stateEpoch, start |-> row.start, cells |-> cells]
StateOf(row, o) == [offset |-> o, state |-> row.cells[o].state, count |-> row.cells[o].count]

(* SH20, SH21.                                                              *)
Settled(cell, ok) ==
  LET still == [cell EXCEPT !.moving = FALSE, !.previous = Nobody, !.expired = FALSE] IN
  IF ok \/ FinalStays(cell) THEN still
  ELSE IF ReleasesExpired(cell) THEN [still EXCEPT !.state = RolledBack(cell.count)]
  ELSE [still EXCEPT !.state = "Acquired", !.member = cell.previous, !.expired = cell.expired]

Completed(row, write, ok) ==
  LET written == {c.offset : c \in write.cells} IN
  [row EXCEPT !.cells = [o \in Offsets |->
     IF o \in written /\ @[o].moving THEN Settled(@[o], ok) ELSE @[o]]]

(* SH3.                                                                     *)
LoadedRow(row, m, start) ==
  LET known == {o \in Offsets : o >= start /\ m.cells[o].state # "None"}
      end == IF known = {} THEN start ELSE 1 + CHOOSE o \in known : \A p \in known : p <= o
      holes == {o \in start .. end - 1 : o \notin known}
      gap == LoadedGap(row, holes)
  IN Advanced([row EXCEPT
       !.stateEpoch = m.stateEpoch, !.phase = "Active", !.start = start, !.end = end,
       !.cells = [o \in Offsets |->
          IF o \in known THEN [NoCell EXCEPT !.state = m.cells[o].state, !.count = m.cells[o].count]
          ELSE NoCell],
       !.gap = gap, !.gapEnd = IF gap = 0 THEN 0 ELSE end])

-----------------------------------------------------------------------------
(* The leader, and consumers' requests.                                     *)

Reads(row) ==
  [type |-> "ReadShareGroupState", source |-> Leader, destination |-> Coordinator,
   leaderEpoch |-> row.leaderEpoch, incarnation |-> row.incarnation]

Delivers(row, offsets, n) ==
  [type |-> "ShareFetchResponse", source |-> Leader, destination |-> n,
   leaderEpoch |-> row.leaderEpoch,
   records |-> {[offset |-> o, count |-> row.cells[o].count, leaderEpoch |-> row.leaderEpoch,
                 incarnation |-> row.incarnation] : o \in offsets}]

(* ACTION HandleShareFetch                                                  *)
(* WHO    the leader of the share partition                                 *)
(* WHAT   The first fetch loads the state (SH2). A read that is out of range *)
(*        moves the start offset (SH7). Otherwise records are acquired and  *)
(*        delivered.                                                        *)
Step_HandleShareFetch(n, row, m) ==
  LET next == NextFetch(row) IN
  CASE row.phase = "Empty" -> Outcome([row EXCEPT !.phase = "Initializing"], {Reads(row)})
    [] row.phase # "Active" -> Ignored(row, "Initializing")
    [] next < row.logStart -> Outcome(MovedStart(row), {Delivers(row, {}, m.source)})
    [] next > row.highWatermark -> Ignored(row, "NoRecords")
    [] OTHER ->
         LET offsets == Acquirable(row, next)
             after == Acquired(row, offsets, m.source)
         IN IF offsets = {} THEN Ignored(row, "AtLimit")
            ELSE Outcome(after, {Delivers(after, offsets, m.source)})

Answers(ack, error) ==
  [type |-> "ShareAcknowledgeResponse", source |-> Leader, destination |-> ack.source,
   error |-> error, first |-> ack.first, last |-> ack.last, kind |-> ack.kind]

(* SH17.                                                                    *)
AckedAs(kind, count) == CASE kind = "ACCEPT" -> "Acknowledged"
                          [] kind = "RELEASE" -> Released(count)
                          [] OTHER -> "Archived"

(* ACTION HandleShareAcknowledge                                            *)
(* WHO    the leader                                                        *)
(* WHAT   It checks that the consumer holds the records, changes their      *)
(*        state, and writes it (SH15, SH16, SH19).                          *)
Step_HandleShareAcknowledge(n, row, m) ==
  LET within == {o \in m.first .. m.last : ~Skips(row, o)}
      moved == [row EXCEPT !.cells = [o \in Offsets |->
                  IF o \notin within THEN @[o]
                  ELSE [@[o] EXCEPT !.state = AckedAs(m.kind, row.cells[o].count),
                                    !.member = Nobody, !.moving = TRUE,
                                    !.previous = row.cells[o].member]]]
      write == WriteOf(row, {StateOf(moved, o) : o \in within})
      ack == [source |-> m.source, first |-> m.first, last |-> m.last, kind |-> m.kind,
              write |-> write]
  IN CASE row.phase # "Active" -> Outcome(row, {Answers(m, "NOT_LEADER_OR_FOLLOWER")})
       [] within = {} -> Outcome(row, {Answers(m, "NONE")})
       [] m.last >= row.end \/ \E o \in within : ~MayAcknowledge(row.cells[o], m.source) ->
            Outcome(row, {Answers(m, RefusedAs(row, m))})
       [] AnswerWaits(row) ->
            Outcome([moved EXCEPT !.pending = @ \cup {ack}], {write})
       [] OTHER -> Outcome([moved EXCEPT !.pending = @ \cup {ack}], {write, Answers(m, "NONE")})

(* ACTION HandleLockTimeout                                                 *)
(* WHO    the leader                                                        *)
(* WHAT   The lock of one record expires: the record is available again, or *)
(*        archived at the delivery limit. Nothing waits for the write       *)
(*        (SH22).                                                           *)
Step_HandleLockTimeout(n, row, input) ==
  LET o == input.offset
      cell == row.cells[o]
      to == IF o < row.start THEN "Archived" ELSE Released(cell.count)
      after == [row EXCEPT !.cells[o] = [cell EXCEPT !.state = to, !.member = Nobody]]
  IN CASE row.phase # "Active" -> Disabled
       [] cell.moving /\ ~cell.expired /\ cell.previous # Nobody ->
            Outcome([row EXCEPT !.cells[o].expired = TRUE], {})
       [] LockReleases(cell) /\ ~cell.expired -> Outcome(after, {WriteOf(row, {StateOf(after, o)})})
       [] OTHER -> Disabled

(* ACTION HandleSessionEnd                                                  *)
(* WHO    the leader                                                        *)
(* WHAT   A member's connection is closed, and its records are released     *)
(*        (SH24).                                                           *)
Step_HandleSessionEnd(n, row, input) ==
  LET released == SessionReleases(row, input.member)
      moved == [row EXCEPT !.cells = [o \in Offsets |->
                  IF o \notin released THEN @[o]
                  ELSE [@[o] EXCEPT !.state = IF o < row.start THEN "Archived"
                                              ELSE Released(row.cells[o].count),
                                    !.member = Nobody, !.moving = TRUE,
                                    !.previous = row.cells[o].member]]]
      write == WriteOf(row, {StateOf(moved, o) : o \in released})
      ack == [source |-> Nobody, first |-> 0, last |-> 0, kind |-> "RELEASE", write |-> write]
  IN IF row.phase # "Active" \/ released = {} THEN Disabled
     ELSE Outcome([moved EXCEPT !.pending = @ \cup {ack}], {write})

-----------------------------------------------------------------------------
(* The leader, and the persister's answers.                                 *)

IsMine(row, m) == m.incarnation = row.incarnation

(* ACTION HandleReadShareGroupStateResponse                                 *)
(* WHO    the leader                                                        *)
(* WHAT   It adopts the stored state, or resolves and stores a first start  *)
(*        offset (SH2, SH4).                                                *)
Step_HandleReadShareGroupStateResponse(n, row, m) ==
  LET resolved == LargerOf(row.highWatermark + 1, 1)
      waits == [row EXCEPT !.phase = "Resolving", !.stateEpoch = m.stateEpoch,
                           !.start = resolved, !.end = resolved]
  IN CASE row.phase # "Initializing" \/ ~IsMine(row, m) -> Ignored(row, "Late")
       [] m.error # "NONE" -> Outcome(Fresh(row), {})
       [] m.start # 0 -> Outcome(LoadedRow(row, m, m.start), {})
       [] StoresResolvedStart(row) -> Outcome(waits, {WriteOf(waits, {})})
       [] OTHER -> Outcome(LoadedRow(row, m, resolved), {})

ToldTo(acks, error) == {Answers(a, error) : a \in {b \in acks : b.source # Nobody}}
IsFencing(error) == error \in {"FENCED_LEADER_EPOCH", "FENCED_STATE_EPOCH"}

(* ACTION HandleWriteShareGroupStateResponse                                *)
(* WHO    the leader                                                        *)
(* WHAT   A write has succeeded or failed: it completes or rolls back,      *)
(*        responses are sent, and a fencing error removes the share         *)
(*        partition, if anything waits for the write (SH20, SH21, SH22,     *)
(*        SH25, SH34).                                                      *)
Step_HandleWriteShareGroupStateResponse(n, row, m) ==
  LET acks == {a \in row.pending : a.write = m.write}
      told == ToldTo(acks, IF m.error = "NONE" THEN "NONE" ELSE "NOT_LEADER_OR_FOLLOWER")
      rest == [row EXCEPT !.pending = @ \ acks]
      ok == m.error = "NONE"
      here == IsMine(row, m.write)
      settled == IF row.phase = "Resolving" THEN [rest EXCEPT !.phase = "Active"]
                 ELSE IF acks = {} THEN rest ELSE Completed(rest, m.write, ok)
      waits == acks # {} \/ row.phase = "Resolving"
  IN CASE IsFencing(m.error) /\ waits /\ row.phase # "Empty" /\ FencingRemoves(row, m.write) ->
            Outcome(Fresh(rest), told)
       [] row.phase \in {"Active", "Resolving"} /\ here ->
            Outcome(IF ok THEN Advanced(settled) ELSE settled, told)
       [] acks # {} -> Outcome(rest, told)
       [] OTHER -> Ignored(row, "Late")

(* ACTION HandleRetryPersister                                              *)
(* WHO    the leader                                                        *)
(* WHAT   An attempt got no response, and is repeated (SH32).               *)
Step_HandleRetryPersister(n, row, input) ==
  LET writes == {a.write : a \in row.pending} IN
  CASE row.phase = "Initializing" -> Outcome(row, writes \cup {Reads(row)})
    [] row.phase = "Resolving" -> Outcome(row, writes \cup {WriteOf(row, {})})
    [] writes # {} -> Outcome(row, writes)
    [] OTHER -> Disabled

(* ACTION HandleGiveUpWrite                                                 *)
(* WHO    the leader                                                        *)
(* WHAT   The persister gives up after its attempts (SH32, SH34).           *)
Step_HandleGiveUpWrite(n, row, input) ==
  LET acks == {a \in row.pending : a.write = input.write}
      rest == [row EXCEPT !.pending = @ \ acks]
  IN IF acks = {} THEN Disabled
     ELSE Outcome(IF row.phase = "Active" /\ IsMine(row, input.write)
                  THEN Completed(rest, input.write, FALSE) ELSE rest,
                  ToldTo(acks, "COORDINATOR_NOT_AVAILABLE"))

-----------------------------------------------------------------------------
(* The leader by itself.                                                    *)

(* ACTION HandleMoveLeader                                                  *)
(* WHO    the next leader                                                   *)
(* WHAT   Another broker leads, without state.                              *)
Step_HandleMoveLeader(n, row, input) ==
  IF row.leaderEpoch = MaxLeaders THEN Disabled
  ELSE Outcome([Fresh(row) EXCEPT !.leaderEpoch = @ + 1], {})

(* ACTION HandleRecreate                                                    *)
(* WHO    the leader                                                        *)
(* WHAT   The broker drops its share partition, and creates a new one (SH1). *)
Step_HandleRecreate(n, row, input) ==
  IF row.phase = "Empty" \/ row.incarnation >= MaxIncarnations THEN Disabled
  ELSE Outcome(Fresh(row), {})

(* ACTION HandleProduceBatch                                                *)
(* WHO    a producer                                                        *)
(* WHAT   A batch is appended and committed.                                *)
Step_HandleProduceBatch(n, row, input) ==
  IF row.highWatermark = Records THEN Disabled
  ELSE Outcome([row EXCEPT !.highWatermark = EndOfBatch(@ + 1)], {})

(* ACTION HandleMoveLogStart                                                *)
(* WHO    the leader                                                        *)
(* WHAT   The log start moves, by retention or deletion.                    *)
Step_HandleMoveLogStart(n, row, input) ==
  IF input.to <= row.logStart \/ input.to > row.highWatermark THEN Disabled
  ELSE Outcome([row EXCEPT !.logStart = input.to], {})

-----------------------------------------------------------------------------
(* The share coordinator.                                                   *)

AnswersRead(stored, m, error) ==
  [type |-> "ReadShareGroupStateResponse", source |-> Coordinator, destination |-> Leader,
   error |-> error, incarnation |-> m.incarnation,
   stateEpoch |-> stored.stateEpoch, start |-> stored.start, cells |-> stored.cells]
AnswersWrite(m, error) ==
  [type |-> "WriteShareGroupStateResponse", source |-> Coordinator, destination |-> Leader,
   error |-> error, write |-> m]

(* An operation without a record waits for those before it.                 *)
WaitsOrTells(row, answer) ==
  IF row.log.leader = <<>> THEN Outcome(row, {answer})
  ELSE Outcome([row EXCEPT !.waiting = @ \cup {answer}], {})
WithRecord(row, stored, answer) ==
  Outcome([row EXCEPT !.log = Appended(@, stored), !.waiting = @ \cup {answer}], {})

(* ACTION HandleReadShareGroupState                                         *)
(* WHO    the share coordinator                                             *)
(* WHAT   It returns the stored state, and records the reader's leader      *)
(*        epoch; an older leader is fenced (SH40).                          *)
Step_HandleReadShareGroupState(n, row, m) ==
  LET stored == Newest(row.log) IN
  IF m.leaderEpoch < stored.leaderEpoch \/ m.incarnation < stored.incarnation
  THEN Outcome(row, {AnswersRead(InitialStored, m, "FENCED_LEADER_EPOCH")})
  ELSE IF ReadIsRecorded(stored, m.incarnation)
  THEN WithRecord(row, [stored EXCEPT !.leaderEpoch = m.leaderEpoch,
                                      !.incarnation = m.incarnation],
                  AnswersRead(stored, m, "NONE"))
  ELSE WaitsOrTells(row, AnswersRead(stored, m, "NONE"))

(* SH38, SH39.                                                              *)
Merged(stored, m) ==
  LET start == StoredStart(stored, m)
      cell(o) == {c \in m.cells : c.offset = o}
  IN [stored EXCEPT
        !.start = start,
        !.stateEpoch = WrittenEpoch(stored, m),
        !.cells = [o \in Offsets |->
           IF o < start THEN NoStored
           ELSE IF \E c \in cell(o) : @[o].state = "None" \/ Wins(c, @[o])
           THEN LET c == CHOOSE c \in cell(o) : TRUE IN [state |-> c.state, count |-> c.count]
           ELSE @[o]]]

(* ACTION HandleWriteShareGroupState                                        *)
(* WHO    the share coordinator                                             *)
(* WHAT   It merges and appends a write of the present leader and state     *)
(*        epoch, and fences others (SH36, SH38, SH39).                      *)
Step_HandleWriteShareGroupState(n, row, m) ==
  LET stored == Newest(row.log) IN
  IF WriteAccepted(stored, m) THEN WithRecord(row, Merged(stored, m), AnswersWrite(m, "NONE"))
  ELSE Outcome(row, {AnswersWrite(m, IF m.stateEpoch < stored.stateEpoch
                                     THEN "FENCED_STATE_EPOCH" ELSE "FENCED_LEADER_EPOCH")})

(* ACTION HandleStateCommit                                                 *)
(* WHO    the share coordinator                                             *)
(* WHAT   The high watermark reaches the end of the log, and waiting        *)
(*        responses are sent.                                               *)
Step_HandleStateCommit(n, row, input) ==
  IF row.log.leader = <<>> THEN Disabled
  ELSE Outcome([row EXCEPT !.log = Committed(@), !.waiting = {}], row.waiting)

(* ACTION HandleMoveShareCoordinator                                        *)
(* WHO    the next share coordinator                                        *)
(* WHAT   Another broker leads the state partition, with any log that it may *)
(*        have (SH44).                                                      *)
Step_HandleMoveShareCoordinator(n, row, input) ==
  IF row.leaderEpoch = MaxCoordinators \/ input.tail \notin row.log.tails THEN Disabled
  ELSE Outcome([row EXCEPT !.leaderEpoch = @ + 1, !.log = Loaded(@, input.tail), !.waiting = {}],
               {})

-----------------------------------------------------------------------------
(* Consumers.                                                               *)

ToLeader(n, type) == [type |-> type, source |-> n, destination |-> Leader]

(* ACTION HandlePollRecords                                                 *)
(* WHO    a consumer                                                        *)
(* WHAT   It fetches.                                                       *)
Step_HandlePollRecords(n, row, input) == Outcome(row, {ToLeader(n, "ShareFetch")})

(* ACTION HandleShareFetchResponse                                          *)
(* WHO    a consumer                                                        *)
(* WHAT   It holds the delivered records; a response of an older leader is  *)
(*        ignored.                                                          *)
Step_HandleShareFetchResponse(n, row, m) ==
  LET offsets == {r.offset : r \in m.records}
      kept == {h \in row.held : h.offset \notin offsets /\ ~ForgetsHeld(row, h, m.leaderEpoch)}
  IN IF m.leaderEpoch < row.leaderEpoch THEN Ignored(row, "Late")
     ELSE Outcome([row EXCEPT !.leaderEpoch = m.leaderEpoch, !.held = kept \cup m.records], {})

(* ACTION HandleAcknowledgeRecords                                          *)
(* WHO    a consumer                                                        *)
(* WHAT   The application acknowledges records that it holds (SH51, SH52).  *)
Step_HandleAcknowledgeRecords(n, row, input) ==
  LET range == input.first .. input.last
      asked == [first |-> input.first, last |-> input.last, kind |-> input.kind]
  IN IF \E o \in range : ~\E h \in row.held : h.offset = o THEN Disabled
     ELSE Outcome([row EXCEPT !.held = {h \in @ : h.offset \notin range},
                              !.asked = @ \cup {asked}],
                  {asked @@ ToLeader(n, "ShareAcknowledge")})

(* ACTION HandleShareAcknowledgeResponse                                    *)
(* WHO    a consumer                                                        *)
(* WHAT   It knows whether its acknowledgement counts.                      *)
Step_HandleShareAcknowledgeResponse(n, row, m) ==
  LET asked == [first |-> m.first, last |-> m.last, kind |-> m.kind]
      done == IF m.error = "NONE" /\ m.kind # "RELEASE" THEN m.first .. m.last ELSE {}
  IN IF asked \notin row.asked THEN Ignored(row, "Late")
     ELSE Outcome([row EXCEPT !.asked = @ \ {asked}, !.done = @ \cup done], {})

(* ACTION HandleAcknowledgeTimeout                                          *)
(* WHO    a consumer                                                        *)
(* WHAT   No response in time: the outcome is unknown (SH53).               *)
Step_HandleAcknowledgeTimeout(n, row, input) ==
  IF row.asked = {} THEN Disabled ELSE Outcome([row EXCEPT !.asked = {}], {})

(* ACTION HandleForgetRecord                                                *)
(* WHO    a consumer                                                        *)
(* WHAT   The application lets the lock of a record expire.                 *)
Step_HandleForgetRecord(n, row, input) ==
  IF ~\E h \in row.held : h.offset = input.offset THEN Disabled
  ELSE Outcome([row EXCEPT !.held = {h \in @ : h.offset # input.offset}], {})
=============================================================================
