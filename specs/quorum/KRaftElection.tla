--------------------------- MODULE KRaftElection ----------------------------
(***************************************************************************)
(* The controller quorum as a whole: a row for each voter, and a network.   *)
(* One lifting operator turns the handlers of QuorumHandlers into actions.  *)
(* Bounds, budgets and fairness belong to models/ (L4).                     *)
(***************************************************************************)
EXTENDS QuorumHandlers, Network

VARIABLES
  rows,       \* rows[n]: the whole state of voter n
  network     \* every message ever sent

(* The one lifting operator: a handler becomes an action of the system.     *)
Lift(Step(_, _, _), n, input) ==
  \E outcome \in Step(n, rows[n], input) :
    /\ rows' = [rows EXCEPT ![n] = outcome.row]
    /\ network' = WithSent(network, outcome.sent)

LiftMessages(Step(_, _, _), n, type) ==
  /\ Running(rows[n])
  /\ \E m \in Deliverable(network, n, type) : Lift(Step, n, m)

HandleVoteRequest(n) == LiftMessages(Step_HandleVoteRequest, n, "VoteRequest")
HandleVoteResponse(n) == LiftMessages(Step_HandleVoteResponse, n, "VoteResponse")
HandleBeginQuorumEpochRequest(n) ==
  LiftMessages(Step_HandleBeginQuorumEpochRequest, n, "BeginQuorumEpochRequest")
HandleBeginQuorumEpochResponse(n) ==
  LiftMessages(Step_HandleBeginQuorumEpochResponse, n, "BeginQuorumEpochResponse")
HandleEndQuorumEpochRequest(n) ==
  LiftMessages(Step_HandleEndQuorumEpochRequest, n, "EndQuorumEpochRequest")
HandleEndQuorumEpochResponse(n) ==
  LiftMessages(Step_HandleEndQuorumEpochResponse, n, "EndQuorumEpochResponse")
HandleFetchRequest(n) == LiftMessages(Step_HandleFetchRequest, n, "FetchRequest")
HandleFetchResponse(n) == LiftMessages(Step_HandleFetchResponse, n, "FetchResponse")
HandleFetchMaxWait(n) ==
  \E m \in rows[n].parked :
    Lift(Step_HandleFetchMaxWait, n, [type |-> "FetchMaxWait", request |-> m])
HandleAppend(n, value) == Lift(Step_HandleAppend, n, [type |-> "Append", value |-> value])
HandleFlush(n) == Lift(Step_HandleFlush, n, [type |-> "Flush"])
HandleElectionTimeout(n) == Lift(Step_HandleElectionTimeout, n, [type |-> "ElectionTimeout"])
HandleFetchTimeout(n) == Lift(Step_HandleFetchTimeout, n, [type |-> "FetchTimeout"])
HandleBeginQuorumEpochTimeout(n) ==
  Lift(Step_HandleBeginQuorumEpochTimeout, n, [type |-> "BeginQuorumEpochTimeout"])
HandleCheckQuorumTimeout(n) ==
  Lift(Step_HandleCheckQuorumTimeout, n, [type |-> "CheckQuorumTimeout"])
HandleResign(n) == Lift(Step_HandleResign, n, [type |-> "Resign"])
HandleRequestTimeout(n, peer) ==
  Lift(Step_HandleRequestTimeout, n, [type |-> "RequestTimeout", peer |-> peer])
HandleCrash(n, keep) == Lift(Step_HandleCrash, n, [type |-> "Crash", keep |-> keep])
HandleRestart(n) == Lift(Step_HandleRestart, n, [type |-> "Restart"])

Init ==
  /\ rows = [n \in Voters |-> InitialRow(n)]
  /\ network = EmptyNetwork
=============================================================================
