-------------------------- MODULE ControllerHandlers --------------------------
(***************************************************************************)
(* Controllers decide ahead of what is committed, and answer after it (C0;  *)
(* QuorumController, OffsetControlManager and DeferredEventQueue of Kafka). *)
(* The quorum is one node here, the metadata log: specs/quorum has how it   *)
(* elects and replicates, specs/partition what a decision is.               *)
(*                                                                          *)
(* The log's row:                                                           *)
(*   epoch      the last one                                                *)
(*   leader     of the epoch; Nobody in the beginning                       *)
(*   records    with their epoch; whose decision they are (Nobody: the      *)
(*              beginning of an epoch), of which request; and where that    *)
(*              controller expects the log to end with it                   *)
(*   committed  how many of them are                                        *)
(*                                                                          *)
(* A controller's row:                                                      *)
(*   epoch      in which it is active; 0: it is a standby                   *)
(*   end        how many records its state has                              *)
(*   last       the epoch of the last of them                               *)
(*   committed, committedEpoch   the same of what it knows to be committed  *)
(*   asked      how many requests it had                                    *)
(*   deferred   those that wait, the first one first: the request, whether  *)
(*              it has records, and the end for which it waits              *)
(*                                                                          *)
(* The clients' row:                                                        *)
(*   heard      how many answers they had                                   *)
(*   answers    with the epoch and the end of the state they rest on        *)
(***************************************************************************)
EXTENDS ControllerRules

MetadataLog == 0
Clients == -2
Nobody == -1

InitialMetadataLog == [epoch |-> 0, leader |-> Nobody, records |-> <<>>, committed |-> 0]
InitialController ==
  [epoch |-> 0, end |-> 0, last |-> 0, committed |-> 0, committedEpoch |-> 0, asked |-> 0,
   deferred |-> <<>>]
InitialClients == [heard |-> 0, answers |-> {}]

Outcome(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Ignored(row, why) == {[row |-> row, sent |-> {}, ignored |-> why]}
Disabled == {}

-----------------------------------------------------------------------------
(* The metadata log.                                                        *)

LeaderAndEpoch(n, leader, epoch, end) ==
  [type |-> "LeaderAndEpoch", source |-> MetadataLog, destination |-> n, leader |-> leader,
   epoch |-> epoch, end |-> end]
Commit(n, end, epoch) ==
  [type |-> "BatchCommitted", source |-> MetadataLog, destination |-> n, end |-> end,
   epoch |-> epoch]

(* ACTION HandleScheduleAppend                                              *)
(* WHO    the metadata log                                                  *)
(* WHAT   The leader's controller appends a decision.                       *)
Step_HandleScheduleAppend(n, row, m) ==
  IF ~AcceptsAppend(row, m.epoch) THEN Ignored(row, "NotLeader")
  ELSE Outcome([row EXCEPT !.records = Append(@,
                  [epoch |-> m.epoch, controller |-> m.source, operation |-> m.operation,
                   end |-> m.end])], {})

(* ACTION HandleElectVoter                                                  *)
(* WHO    the metadata log                                                  *)
(* WHAT   A voter is elected whose log has what is committed, and perhaps   *)
(*        more. Nobody is active until the beginning of its epoch is        *)
(*        committed.                                                        *)
Step_HandleElectVoter(n, row, input) ==
  LET epoch == row.epoch + 1
      begins == [epoch |-> epoch, controller |-> Nobody, operation |-> 0, end |-> input.end + 1]
  IN IF \/ row.epoch = MaxEpochs \/ input.end \notin row.committed .. Len(row.records)
        \/ input.voter = row.leader /\ input.end # Len(row.records)
     THEN Disabled
     ELSE Outcome([row EXCEPT !.epoch = epoch, !.leader = input.voter,
                              !.records = Append(SubSeq(@, 1, input.end), begins)],
                  {LeaderAndEpoch(c, Nobody, epoch, 0) : c \in Controllers})

(* ACTION HandleAdvanceHighWatermark                                        *)
(* WHO    the metadata log                                                  *)
(* WHAT   One more record is committed. With the beginning of the epoch     *)
(*        the leader's controller becomes active                            *)
(*        (RaftClient.Listener.handleCommit, handleLeaderChange).           *)
Step_HandleAdvanceHighWatermark(n, row, input) ==
  LET end == row.committed + 1
      claims == row.records[end].controller = Nobody /\ row.records[end].epoch = row.epoch
  IN IF row.committed = Len(row.records) THEN Disabled
     ELSE Outcome([row EXCEPT !.committed = end],
                  {IF claims /\ c = row.leader THEN LeaderAndEpoch(c, c, row.epoch, end)
                   ELSE Commit(c, end, row.records[end].epoch) : c \in Controllers})

-----------------------------------------------------------------------------
(* Controllers.                                                             *)

Response(n, operation, writes, error, epoch, end) ==
  [type |-> "ControllerResponse", source |-> n, destination |-> Clients, operation |-> operation,
   writes |-> writes, error |-> error, epoch |-> epoch, end |-> end]
Completed(n, row, deferred) ==
  {Response(n, d.operation, d.writes, "NONE", row.epoch, d.end) : d \in deferred}
Members(sequence) == {sequence[i] : i \in DOMAIN sequence}

(* ACTION HandleWriteEvent                                                  *)
(* WHO    a controller                                                      *)
(* WHAT   An active one decides on its own state. A decision with records   *)
(*        is appended; the answer waits.                                    *)
Step_HandleWriteEvent(n, row, input) ==
  LET operation == row.asked + 1
      asked == [row EXCEPT !.asked = operation]
      end == IF input.writes THEN row.end + 1 ELSE WaitsFor(row)
      known == IF input.writes THEN [asked EXCEPT !.end = end, !.last = row.epoch] ELSE asked
      appended == IF ~input.writes THEN {}
                  ELSE {[type |-> "ScheduleAppend", source |-> n, destination |-> MetadataLog,
                         epoch |-> row.epoch, operation |-> operation, end |-> end]}
      defers == IF input.writes THEN DefersRecords(row) ELSE end # 0
  IN CASE row.asked = MaxOperations -> Disabled
       [] row.epoch = 0 ->
            Outcome(asked, {Response(n, operation, input.writes, "NOT_CONTROLLER", 0, 0)})
       [] defers ->
            Outcome([known EXCEPT !.deferred = Append(@,
                       [operation |-> operation, writes |-> input.writes, end |-> end])],
                    appended)
       [] OTHER ->
            Outcome(known, appended \cup
                      {Response(n, operation, input.writes, "NONE", row.epoch, known.end)})

(* ACTION HandleBatchCommitted                                              *)
(* WHO    a controller                                                      *)
(* WHAT   A standby replays what is committed; an active one, whose state   *)
(*        has it, answers what waited for it.                               *)
Step_HandleBatchCommitted(n, row, m) ==
  LET after == [row EXCEPT !.committed = m.end, !.committedEpoch = m.epoch]
      done == {d \in Members(row.deferred) : IsComplete(d, m.end)}
  IN IF row.epoch = 0 THEN Outcome([after EXCEPT !.end = m.end, !.last = m.epoch], {})
     ELSE Outcome([after EXCEPT !.deferred = SelectSeq(@, LAMBDA d : d \notin done)],
                  Completed(n, row, done))

(* ACTION HandleLeaderAndEpoch                                              *)
(* WHO    a controller                                                      *)
(* WHAT   It becomes active, or is active no more.                          *)
Step_HandleLeaderAndEpoch(n, row, m) ==
  LET failed == IF FailsOnRenounce(row) THEN Members(row.deferred) ELSE {}
      reverted == IF RevertsOnRenounce(row)
                  THEN [row EXCEPT !.end = row.committed, !.last = row.committedEpoch] ELSE row
      claimed == [row EXCEPT !.epoch = m.epoch, !.end = m.end, !.last = m.epoch,
                             !.committed = m.end, !.committedEpoch = m.epoch]
      renounced == [reverted EXCEPT !.epoch = 0,
                                    !.deferred = SelectSeq(@, LAMBDA d : d \notin failed)]
  IN CASE m.leader = n -> Outcome(claimed, {})
       [] row.epoch = 0 -> Ignored(row, "Standby")
       [] OTHER ->
            Outcome(renounced,
                    {Response(n, d.operation, d.writes, "NOT_CONTROLLER", 0, 0) : d \in failed})

-----------------------------------------------------------------------------
(* Clients.                                                                 *)

(* ACTION HandleControllerResponse                                          *)
(* WHO    the clients                                                       *)
(* WHAT   They know what a request came to.                                 *)
Step_HandleControllerResponse(n, row, m) ==
  Outcome([row EXCEPT !.heard = @ + 1, !.answers = @ \cup
             {[controller |-> m.source, operation |-> m.operation, writes |-> m.writes,
               error |-> m.error, epoch |-> m.epoch, end |-> m.end]}], {})
=============================================================================
