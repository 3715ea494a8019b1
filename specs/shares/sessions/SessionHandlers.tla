--------------------------- MODULE SessionHandlers ----------------------------
(***************************************************************************)
(* Share sessions: a broker with its session cache, and share consumers     *)
(* (KIP-932, "Share sessions"; docs/reference/shares.md).                   *)
(*                                                                          *)
(* The broker's row:                                                        *)
(*   sessions   sessions[n]: the epoch of member n's next request (0: there *)
(*              is no session), and the session's connection                *)
(*   closed     closed[n]: the last connection of member n whose end the    *)
(*              broker has seen                                             *)
(*   cells      cells[o]: state of offset o ("Available", "Acquired",       *)
(*              "Done"), its holder, and the count of its deliveries        *)
(*   restarts   how often the broker has restarted                          *)
(*                                                                          *)
(* A consumer's row:                                                        *)
(*   connection its connections are numbered, from 1                        *)
(*   epoch      of the next request; 0 begins a session                     *)
(*   request    what is under way: "None", "Fetch", "Acknowledge", "Close"  *)
(*   held       the deliveries that it holds                                *)
(*   acks       acknowledged by the application, and not sent               *)
(*   sent       acknowledged by the request under way                       *)
(*   done       whose acknowledgement succeeded, as the application knows   *)
(*   failed     whose error the application knows                           *)
(*   closed     whether it is closed                                        *)
(*                                                                          *)
(* What a share partition does with acknowledgements is in specs/shares:    *)
(* here they are stored at once.                                            *)
(***************************************************************************)
EXTENDS SessionRules, TLC

Broker == 0
Nobody == -1
FinalEpoch == -1
Offsets == 1 .. Records

NoSession == [epoch |-> 0, connection |-> 0]
Undelivered == [state |-> "Available", member |-> Nobody, count |-> 0]

InitialSessionBroker ==
  [sessions |-> [n \in Members |-> NoSession], closed |-> [n \in Members |-> 0],
   cells |-> [o \in Offsets |-> Undelivered], restarts |-> 0]
InitialSessionClient ==
  [connection |-> 1, epoch |-> 0, request |-> "None", held |-> {}, acks |-> {}, sent |-> {},
   done |-> {}, failed |-> {}, closed |-> FALSE]

Outcome(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Ignored(row, why) == {[row |-> row, sent |-> {}, ignored |-> why]}
Disabled == {}

LargestOf(a, b) == IF a >= b THEN a ELSE b
OffsetsOf(deliveries) == {d.offset : d \in deliveries}

-----------------------------------------------------------------------------
(* The broker.                                                              *)

Holds(row, n, o) == row.cells[o].state = "Acquired" /\ row.cells[o].member = n
Free(cell) == [cell EXCEPT !.state = "Available", !.member = Nobody]

(* SH15.  What the member holds is acknowledged; the rest is refused.       *)
Acknowledged(row, n, offsets) ==
  [row EXCEPT !.cells = [o \in Offsets |->
     IF o \in offsets /\ Holds(row, n, o) THEN [@[o] EXCEPT !.state = "Done", !.member = Nobody]
     ELSE @[o]]]
Refused(row, n, offsets) == {o \in offsets : ~Holds(row, n, o)}

(* The first record that is available is delivered.                         *)
FirstAvailable(row) ==
  LET free == {o \in Offsets : row.cells[o].state = "Available"} IN
  {o \in free : \A p \in free : o <= p}
Acquired(row, n) ==
  [row EXCEPT !.cells = [o \in Offsets |->
     IF o \in FirstAvailable(row)
     THEN [state |-> "Acquired", member |-> n, count |-> @[o].count + 1] ELSE @[o]]]
DeliveredTo(row) ==
  {[offset |-> o, count |-> row.cells[o].count + 1] : o \in FirstAvailable(row)}

(* SH24, SH30.  A member's session ends, and its records are released.      *)
Ended(row, n, connection) ==
  [row EXCEPT !.sessions[n] = NoSession, !.closed[n] = LargestOf(@, connection),
              !.cells = [o \in Offsets |-> IF @[o].member = n THEN Free(@[o]) ELSE @[o]]]

(* SH29.                                                                    *)
SessionError(session, epoch) ==
  CASE session.epoch = 0 -> "SHARE_SESSION_NOT_FOUND"
    [] epoch = FinalEpoch \/ EpochMatches(session, epoch) -> "NONE"
    [] OTHER -> "INVALID_SHARE_SESSION_EPOCH"

FetchAnswer(m, error, refused, records) ==
  [type |-> "SessionFetchResponse", source |-> Broker, destination |-> m.source,
   connection |-> m.connection, epoch |-> m.epoch, error |-> error, refused |-> refused,
   records |-> records]
AcknowledgeAnswer(m, error, refused) ==
  [type |-> "SessionAcknowledgeResponse", source |-> Broker, destination |-> m.source,
   connection |-> m.connection, epoch |-> m.epoch, error |-> error, refused |-> refused]

(* ACTION HandleSessionFetch                                                *)
(* WHO    the broker                                                        *)
(* WHAT   It begins a session, or checks the session's epoch, acknowledges, *)
(*        and delivers a record (SH29, SH31).                               *)
Step_HandleSessionFetch(n, row, m) ==
  LET session == row.sessions[m.source]
      begun == [row EXCEPT !.sessions[m.source] = [epoch |-> 1, connection |-> m.connection]]
      error == SessionError(session, m.epoch)
      next == [row EXCEPT !.sessions[m.source].epoch = @ + 1]
      acked == Acknowledged(next, m.source, m.offsets)
  IN CASE ~IsCurrent(session, row.closed[m.source], m.connection) -> Ignored(row, "Closed")
       [] m.epoch = 0 /\ m.offsets # {} ->
            Outcome(row, {FetchAnswer(m, "INVALID_REQUEST", {}, {})})
       [] m.epoch = 0 ->
            Outcome(Acquired(begun, m.source), {FetchAnswer(m, "NONE", {}, DeliveredTo(begun))})
       [] error # "NONE" -> Outcome(row, {FetchAnswer(m, error, {}, {})})
       [] OTHER ->
            Outcome(Acquired(acked, m.source),
                    {FetchAnswer(m, "NONE", Refused(row, m.source, m.offsets),
                                 DeliveredTo(acked))})

(* ACTION HandleSessionAcknowledge                                          *)
(* WHO    the broker                                                        *)
(* WHAT   It checks the session's epoch and acknowledges; the final epoch   *)
(*        ends the session (SH29, SH30).                                    *)
Step_HandleSessionAcknowledge(n, row, m) ==
  LET session == row.sessions[m.source]
      error == SessionError(session, m.epoch)
      acked == Acknowledged(row, m.source, m.offsets)
      answer == AcknowledgeAnswer(m, "NONE", Refused(row, m.source, m.offsets))
  IN CASE ~IsCurrent(session, row.closed[m.source], m.connection) -> Ignored(row, "Closed")
       [] error # "NONE" -> Outcome(row, {AcknowledgeAnswer(m, error, {})})
       [] m.epoch = FinalEpoch -> Outcome(Ended(acked, m.source, session.connection), {answer})
       [] OTHER -> Outcome([acked EXCEPT !.sessions[m.source].epoch = @ + 1], {answer})

(* ACTION HandleConnectionClosed                                            *)
(* WHO    the broker                                                        *)
(* WHAT   A connection ends, and the session that began on it (SH30).       *)
Step_HandleConnectionClosed(n, row, m) ==
  LET session == row.sessions[m.source] IN
  IF session.epoch # 0 /\ EndsSession(session, m.connection)
  THEN Outcome(Ended(row, m.source, m.connection), {})
  ELSE Outcome([row EXCEPT !.closed[m.source] = LargestOf(@, m.connection)], {})

(* ACTION HandleAcquisitionLockTimeout                                      *)
(* WHO    the broker                                                        *)
(* WHAT   The lock of a record expires (SH22).                              *)
Step_HandleAcquisitionLockTimeout(n, row, input) ==
  IF row.cells[input.offset].state # "Acquired" THEN Disabled
  ELSE Outcome([row EXCEPT !.cells[input.offset] = Free(@)], {})

(* ACTION HandleSessionsLost                                                *)
(* WHO    the broker                                                        *)
(* WHAT   It restarts: its sessions and locks are gone (SH1).               *)
Step_HandleSessionsLost(n, row, input) ==
  Outcome([row EXCEPT !.sessions = [m \in Members |-> NoSession], !.restarts = @ + 1,
                      !.cells = [o \in Offsets |->
                         IF @[o].state = "Acquired" THEN Free(@[o]) ELSE @[o]]], {})

-----------------------------------------------------------------------------
(* Consumers: the application.                                              *)

ToBroker(n, row, type) ==
  [type |-> type, source |-> n, destination |-> Broker, connection |-> row.connection]
Acknowledging(n, row, epoch) ==
  Outcome([row EXCEPT !.request = IF epoch = FinalEpoch THEN "Close" ELSE "Acknowledge",
                      !.acks = {}, !.sent = row.acks],
          {[epoch |-> epoch, offsets |-> OffsetsOf(row.acks)]
             @@ ToBroker(n, row, "SessionAcknowledge")})

(* ACTION HandlePollSession                                                 *)
(* WHO    a consumer                                                        *)
(* WHAT   It fetches, and sends what is acknowledged; a new session has     *)
(*        none of it (SH52, SH56).                                          *)
Step_HandlePollSession(n, row, input) ==
  LET sent == IF SendsAcks(row) THEN row.acks ELSE {}
      after == [row EXCEPT !.request = "Fetch", !.acks = {}, !.sent = sent,
                           !.failed = @ \cup (row.acks \ sent)]
  IN IF row.request # "None" \/ row.closed THEN Disabled
     ELSE Outcome(after, {[epoch |-> row.epoch, offsets |-> OffsetsOf(sent)]
                            @@ ToBroker(n, row, "SessionFetch")})

(* ACTION HandleAcknowledgeDelivery                                         *)
(* WHO    a consumer                                                        *)
(* WHAT   The application acknowledges a record that it holds.              *)
Step_HandleAcknowledgeDelivery(n, row, input) ==
  LET these == {d \in row.held : d.offset = input.offset} IN
  IF these = {} \/ row.closed \/ row.request = "Close" THEN Disabled
  ELSE Outcome([row EXCEPT !.held = @ \ these, !.acks = @ \cup these], {})

(* ACTION HandleCommitSession                                               *)
(* WHO    a consumer                                                        *)
(* WHAT   It sends what is acknowledged; without a session it reports an    *)
(*        error (SH52).                                                     *)
Step_HandleCommitSession(n, row, input) ==
  CASE row.request # "None" \/ row.closed \/ row.acks = {} -> Disabled
    [] row.epoch = 0 -> Outcome([row EXCEPT !.acks = {}, !.failed = @ \cup row.acks], {})
    [] OTHER -> Acknowledging(n, row, row.epoch)

(* ACTION HandleCloseSession                                                *)
(* WHO    a consumer                                                        *)
(* WHAT   The application closes it: the last request ends the session      *)
(*        (SH55).                                                           *)
Step_HandleCloseSession(n, row, input) ==
  CASE row.request # "None" \/ row.closed -> Disabled
    [] row.epoch = 0 ->
         Outcome([row EXCEPT !.held = {}, !.acks = {}, !.failed = @ \cup row.acks,
                             !.closed = TRUE], {})
    [] OTHER -> Acknowledging(n, row, FinalEpoch)

-----------------------------------------------------------------------------
(* Consumers: responses.                                                    *)

(* The request succeeded, and so did what it acknowledged and is not        *)
(* refused.                                                                 *)
Answered(row, refused) ==
  LET failed == {d \in row.sent : d.offset \in refused} IN
  [row EXCEPT !.epoch = @ + 1, !.request = "None", !.acks = AcksAfterResponse(row), !.sent = {},
              !.done = @ \cup (row.sent \ failed), !.failed = @ \cup failed]

(* SH53.  The request failed as a whole: the session begins again.          *)
Reset(row) ==
  LET after == [row EXCEPT !.epoch = 0, !.request = "None"] IN
  IF FailsOnError(row) THEN [after EXCEPT !.sent = {}, !.failed = @ \cup row.sent] ELSE after

(* ACTION HandleSessionFetchResponse                                        *)
(* WHO    a consumer                                                        *)
(* WHAT   It holds the delivered record, and knows which acknowledgements   *)
(*        count.                                                            *)
Step_HandleSessionFetchResponse(n, row, m) ==
  CASE row.request # "Fetch" \/ row.connection # m.connection \/ row.epoch # m.epoch ->
         Ignored(row, "Late")
    [] m.error # "NONE" -> Outcome(Reset(row), {})
    [] OTHER -> Outcome([Answered(row, m.refused) EXCEPT !.held = row.held \cup m.records], {})

(* ACTION HandleSessionAcknowledgeResponse                                  *)
(* WHO    a consumer                                                        *)
(* WHAT   It knows which acknowledgements count, or it is closed.           *)
Step_HandleSessionAcknowledgeResponse(n, row, m) ==
  LET closes == row.request = "Close"
      expected == IF closes THEN FinalEpoch ELSE row.epoch
      after == IF m.error # "NONE" THEN Reset(row) ELSE Answered(row, m.refused)
  IN CASE \/ row.request \notin {"Acknowledge", "Close"}
          \/ row.connection # m.connection \/ expected # m.epoch -> Ignored(row, "Late")
       [] closes -> Outcome([after EXCEPT !.epoch = 0, !.held = {}, !.closed = TRUE], {})
       [] OTHER -> Outcome(after, {})

(* ACTION HandleConnectionLost                                              *)
(* WHO    a consumer                                                        *)
(* WHAT   Its connection breaks, or its request times out: the outcome is   *)
(*        unknown (SH53).                                                   *)
Step_HandleConnectionLost(n, row, input) ==
  LET fails == FailsOnDisconnect(row) IN
  IF row.connection = MaxConnections THEN Disabled
  ELSE Outcome([row EXCEPT !.connection = @ + 1, !.epoch = EpochOnReconnect(row),
                           !.request = "None", !.closed = @ \/ row.request = "Close",
                           !.sent = IF fails THEN {} ELSE @,
                           !.failed = IF fails THEN @ \cup row.sent ELSE @],
               {ToBroker(n, row, "ConnectionClosed")})
=============================================================================
