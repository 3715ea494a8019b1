----------------------------- MODULE SessionRules -----------------------------
(***************************************************************************)
(* The decisions of share sessions that have a name: of a broker's session  *)
(* cache, and of a share consumer (KIP-932, "Share sessions").  A bug       *)
(* replaces one of these operators.                                         *)
(*                                                                          *)
(* Law of this file: no property calls an operator of it, or else replacing *)
(* the operator would change the property with it.                          *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Members,         \* the consumers
  Records,         \* the number of offsets; the first is 1
  MaxConnections   \* the last connection of each consumer

-----------------------------------------------------------------------------
(* The broker.                                                              *)

(* SH29.  A request of a connection that is closed, or was replaced, is     *)
(* dropped.  Kafka looks at the epoch alone.                                *)
IsCurrent(session, closed, connection) ==
  connection > closed /\ connection >= session.connection

(* SH29.  A request has the epoch that the broker expects, so it is handled *)
(* once.                                                                    *)
EpochMatches(session, epoch) == epoch = session.epoch

(* SH30.  The end of a connection ends the session of that connection, and  *)
(* no other.                                                                *)
EndsSession(session, connection) == session.connection = connection

-----------------------------------------------------------------------------
(* Consumers.                                                               *)

(* SH29, SH56.  The first request of a session acknowledges nothing.        *)
SendsAcks(row) == row.epoch # 0

(* SH52.  What was acknowledged while the request was under way is kept.    *)
AcksAfterResponse(row) == row.acks

(* SH53.  The acknowledgements of a request that failed as a whole are      *)
(* reported.                                                                *)
FailsOnError(row) == TRUE

(* SH53.  Those of a request whose connection was lost are reported.        *)
FailsOnDisconnect(row) == TRUE

(* SH30.  A session begins with each connection.                            *)
EpochOnReconnect(row) == 0
=============================================================================
