------------------------------- MODULE Lease --------------------------------
(***************************************************************************)
(* One server lends a resource to one client at a time, for so many ticks   *)
(* of its own clock.  Clients have clocks of their own, which may be wrong: *)
(* a client may believe in a lease that the server has lent to another.     *)
(* What keeps the resource safe is the token that each lease has: a write   *)
(* with an older token than one that was accepted is refused.               *)
(*                                                                          *)
(* The reference (protocol.py) has a function of the name of each operator. *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS Clients, Ticks

Server == 0
Nobody == -1

InitialServer == [holder |-> Nobody, token |-> 0, left |-> 0, written |-> 0]
InitialClient == [token |-> 0, left |-> 0]

Outcome(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Ignore(row, reason) == {[row |-> row, sent |-> {}, ignored |-> reason]}
Disabled == {}

(* Rules: what bugs replace.                                                *)

MayLend(row, m) == row.left = 0 \/ row.holder = m.source
MayWrite(row, m) == m.token >= row.written

(* The server.                                                              *)

Step_HandleAcquireRequest(n, row, m) ==
  LET token == IF row.holder = m.source /\ row.left > 0 THEN row.token ELSE row.token + 1
      lent == [row EXCEPT !.holder = m.source, !.token = token, !.left = Ticks]
      granted == [type |-> "Granted", source |-> Server, destination |-> m.source, token |-> token]
  IN IF MayLend(row, m) THEN Outcome(lent, {granted}) ELSE Ignore(row, "Taken")

Step_HandleWriteRequest(n, row, m) ==
  LET accepted == MayWrite(row, m)
      answer == [type |-> "WriteResponse", source |-> Server, destination |-> m.source,
                 token |-> m.token, accepted |-> accepted]
  IN Outcome(IF accepted THEN [row EXCEPT !.written = m.token] ELSE row, {answer})

Step_HandleServerTick(n, row, input) ==
  IF row.left = 0 THEN Disabled ELSE Outcome([row EXCEPT !.left = @ - 1], {})

(* A client.                                                                *)

Step_HandleGranted(n, row, m) ==
  IF m.token > row.token THEN Outcome([token |-> m.token, left |-> Ticks], {})
  ELSE Ignore(row, "Old")

Step_HandleWriteResponse(n, row, m) ==
  IF ~m.accepted /\ m.token = row.token THEN Outcome([row EXCEPT !.left = 0], {})
  ELSE Outcome(row, {})

Step_HandleClientTick(n, row, input) ==
  IF row.left = 0 THEN Disabled ELSE Outcome([row EXCEPT !.left = @ - 1], {})

Step_HandleAcquire(n, row, input) ==
  IF row.left > 0 THEN Disabled
  ELSE Outcome(row, {[type |-> "AcquireRequest", source |-> n, destination |-> Server]})

Step_HandleWrite(n, row, input) ==
  IF row.left = 0 THEN Disabled
  ELSE Outcome(row, {[type |-> "WriteRequest", source |-> n, destination |-> Server,
                      token |-> row.token]})
=============================================================================
