-------------------------- MODULE SessionProperties ---------------------------
(***************************************************************************)
(* What share sessions promise, as named properties.  Law of this file: no  *)
(* decision of SessionRules is used.                                        *)
(***************************************************************************)
EXTENDS Sessions

AckedBy(row) == row.acks \cup row.sent \cup row.done \cup row.failed

(* The holder of an acquired record is known, and the connection of a       *)
(* session. Misses: a wrong holder.                                         *)
SessionsTypeInv ==
  /\ \A o \in Offsets : broker.cells[o].state = "Acquired" <=> broker.cells[o].member # Nobody
  /\ \A n \in Members : broker.sessions[n].epoch = 0 <=> broker.sessions[n].connection = 0

(* Each delivery of a record has one consumer. Misses: a consumer whose     *)
(* session has ended and that still holds the record.                       *)
OneDelivery == \A m, n \in Members : m # n => clients[m].held \cap clients[n].held = {}

(* A consumer waits for an acknowledgement only while a request is under    *)
(* way. Misses: a request that waits for ever.                              *)
SentIsUnderWay == \A n \in Members : clients[n].request = "None" => clients[n].sent = {}

(* The first request of a session acknowledges nothing, because the broker  *)
(* would refuse all of it. Misses: a later request with an old epoch.       *)
NewSessionHasNoAcks ==
  \A n \in Members : clients[n].request = "Fetch" /\ clients[n].epoch = 0 => clients[n].sent = {}

(* A record is done after an application has acknowledged it. Misses: an    *)
(* acknowledgement of a former delivery.                                    *)
DoneWasAcked ==
  \A o \in Offsets : broker.cells[o].state = "Done" =>
    \E n \in Members : \E d \in AckedBy(clients[n]) : d.offset = o

(* What was acknowledged without an error is done. Misses: a success that   *)
(* the consumer never received.                                             *)
AckedIsDone ==
  \A n \in Members : \A d \in clients[n].done : broker.cells[d.offset].state = "Done"

(* A consumer uses only a session that began on its connection. Misses: a   *)
(* consumer with a request under way.                                       *)
SessionIsOfConnection ==
  \A n \in Members :
    clients[n].request = "None" /\ clients[n].epoch # 0 /\ broker.sessions[n].epoch # 0
      => broker.sessions[n].connection = clients[n].connection

-----------------------------------------------------------------------------
(* Of steps.                                                                *)

(* An acknowledgement stays until the application knows its outcome.        *)
(* Misses: a wrong outcome.                                                 *)
AckIsNotLostStep ==
  \A n \in Members : clients[n].acks \cup clients[n].sent \subseteq AckedBy(clients'[n])
AckIsNotLost == [][AckIsNotLostStep]_vars

EndsNow(n) == broker.sessions[n].epoch # 0 /\ broker'.sessions[n].epoch = 0

(* A session ends with its own connection, or by its consumer's last        *)
(* request. Misses: a session that never ends.                              *)
SessionEndsWithConnectionStep ==
  \A n \in Members : EndsNow(n) /\ broker'.restarts = broker.restarts =>
    broker'.closed[n] >= broker.sessions[n].connection
SessionEndsWithConnection == [][SessionEndsWithConnectionStep]_vars

(* The end of a session releases all that its member holds. Misses: what a  *)
(* restart of the broker forgets.                                           *)
SessionEndReleasesStep ==
  \A n \in Members : EndsNow(n) => \A o \in Offsets : broker'.cells[o].member # n
SessionEndReleases == [][SessionEndReleasesStep]_vars
=============================================================================
