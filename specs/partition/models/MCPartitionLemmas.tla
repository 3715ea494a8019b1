-------------------------- MODULE MCPartitionLemmas --------------------------
(***************************************************************************)
(* The three lemmas about logs that the proof of the partition assumes      *)
(* (reference/partition/proof/relation.py), as invariants of the reduced    *)
(* composition: of the fetch that a follower owes its leader now, and of    *)
(* each answer that it could use now.  And one about what is left out of    *)
(* the controller: refusals that wait for nothing.                          *)
(***************************************************************************)
EXTENDS MCPartitionReduced

(* How far two logs are the same.                                           *)
Common(a, b) ==
  CHOOSE end \in 0..MinOf(Len(a), Len(b)) :
    /\ AgreeBelow(a, b, end)
    /\ end = MinOf(Len(a), Len(b)) \/ ~SameRecord(a[end + 1], b[end + 1])

(* r follows n in the epoch that n leads.                                   *)
Follows(r, n) ==
  IsLeader(rows[n]) /\ Owes(rows[r]) /\ rows[r].leader = n
  /\ rows[r].leaderEpoch = rows[n].leaderEpoch

Valid(n, m) == FetchEpochError(rows[n], m) = "NONE" /\ FetchOffsetError(rows[n], m) = "NONE"

(* A fetch that is found not diverging comes from a prefix of the leader's  *)
(* log.                                                                     *)
FetchSound ==
  \A n, r \in Brokers :
    Follows(r, n) =>
      LET m == FetchOf(r, rows[r]) IN
      (Valid(n, m) /\ ~IsDiverging(rows[n], m)) => AgreeBelow(rows[r].log, rows[n].log,
                                                              Len(rows[r].log))

(* What a follower cuts on an answer, the leader's log does not share.      *)
CutsNothing ==
  \A n, r \in Brokers :
    Follows(r, n) =>
      LET common == Common(rows[r].log, rows[n].log)
          m == FetchOf(r, rows[r])
          answers == {a \in network : /\ a.type = "ReplicaFetchResponse" /\ a.source = n
                                      /\ a.destination = r /\ ResponseMatches(rows[r], a)}
      IN /\ (Valid(n, m) /\ IsDiverging(rows[n], m)) =>
              TruncationPoint(rows[r], EpochEndFor(rows[n], m)) >= common
         /\ \A a \in answers :
              /\ a.error = "OFFSET_OUT_OF_RANGE" => a.endOffset >= common
              /\ (a.error = "NONE" /\ a.diverging # NoDivergence) =>
                   TruncationPoint(rows[r], a.diverging) >= common

(* What a follower appends leaves it with a prefix of the leader's log.     *)
Appended ==
  \A n, r \in Brokers :
    Follows(r, n) =>
      \A a \in network :
        (/\ a.type = "ReplicaFetchResponse" /\ a.source = n /\ a.destination = r
         /\ ResponseMatches(rows[r], a) /\ a.error = "NONE" /\ a.diverging = NoDivergence) =>
          LET longer == rows[r].log \o Appendable(a)
          IN AgreeBelow(longer, rows[n].log, Len(longer))

(* What Kafka's controller refuses by an exception, or because it has heard *)
(* of its successor, it answers at once, whatever it has written            *)
(* (QuorumController.ControllerWriteEvent), and a deposed one as well.  Who *)
(* gets this does what it may do at any time: it gives the request up.  So  *)
(* a model whose refusals wait (C0) has all that brokers can do.            *)
Exceptions == {"DUPLICATE_BROKER_REGISTRATION", "NOT_CONTROLLER", "STALE_BROKER_EPOCH"}

(* What a broker may ask now, and the row that waits for the answer.        *)
MayAsk(n) ==
  LET row == rows[n] IN
  {[m |-> m, row |-> [row EXCEPT !.controllerRequest = m]] :
     m \in {HeartbeatRequest(n, row), RegisterBrokerRequest(n, row)}}
  \cup {[m |-> m, row |-> [row EXCEPT !.alterRequest = m]] :
          m \in IF IsLeader(row) /\ MaySendAlterPartition(row) THEN {AlterOf(n, row)} ELSE {}}

ToldAtOnce(n, row, m, error) ==
  CASE m.type = "AlterPartitionRequest" ->
         Step_HandleAlterPartitionResponse(n, row, AlterPartitionResponse(m, error, Unchanged))
    [] m.type = "RegisterBrokerRequest" ->
         Step_HandleRegisterBrokerResponse(n, row, RegisterBrokerResponse(m, error, Undefined))
    [] OTHER ->
         Step_HandleHeartbeatResponse(n, row, HeartbeatResponse(m, error, FALSE, FALSE, FALSE))

RefusedIsGivenUp ==
  \A n \in Brokers, error \in Exceptions :
    IsUp(rows[n]) =>
      \A asked \in MayAsk(n) :
        ToldAtOnce(n, asked.row, asked.m, error)
          = Step_HandleControllerRequestTimeout(n, asked.row, [request |-> asked.m])
=============================================================================
