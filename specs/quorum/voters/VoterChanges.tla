---------------------------- MODULE VoterChanges -----------------------------
(***************************************************************************)
(* What a controller does where the voters change (KIP-853).  Each step is  *)
(* a step of the quorum (QuorumHandlers) under the set that is in force at  *)
(* its node; a node that is none of them is an observer.  After it the node *)
(* reads from its log which set is in force now.                            *)
(*                                                                          *)
(* Python twin: reference/quorum/voters/handlers.py.                               *)
(*                                                                          *)
(* Not modelled here: snapshots, directory ids but for a disk that is       *)
(* replaced (a node is a voter's key), the ApiVersions exchange of an Add,  *)
(* clocks (a node that was caught up once in an epoch remains so, V15).     *)
(* Where every node begins with the bootstrap set, the first leader need    *)
(* not write it (V22); nor does one that has moved to other listeners.      *)
(***************************************************************************)
EXTENDS VoterRules, TLC

InForce(Voters) == INSTANCE QuorumHandlers

Running(row) == InForce({})!Running(row)

(***************************************************************************)
(* The row is that of the quorum, with functions of all nodes, and:         *)
(*   history      volatile: the sets that were read from the log, with      *)
(*                their offsets, the bootstrap set first                    *)
(*   historyEnd   volatile: up to where the log was read                    *)
(*   caughtUp     leader: who is no voter and was at the end of its log in  *)
(*                this epoch                                                *)
(*   change       leader: the offset of the change whose timer runs, or -1  *)
(*   moved        durable: it has other listeners than at first (V17)       *)
(*   asks         follower: what it asks its leader for in place of records: *)
(*                "UpdateVoter", "AddVoter", or nothing                     *)
(*   hasUpdatedLeader   follower: its leader has heard of it by UpdateVoter *)
(*   heard        leader: of whom it has heard by UpdateVoter in this epoch, *)
(*                under kraft.version 0                                     *)
(***************************************************************************)
InitialRow(n) ==
  InForce(Nodes)!InitialRow(n) @@
  [history |-> <<[offset |-> Undefined,
                  voters |-> IF n \in Unformatted THEN {} ELSE FirstVoters]>>, historyEnd |-> 0,
   caughtUp |-> {}, change |-> Undefined, moved |-> FALSE, asks |-> "",
   hasUpdatedLeader |-> FALSE, heard |-> {}]

-----------------------------------------------------------------------------
(* The end of every step: the voter set of the log, and the leader's        *)
(* reaction.                                                                *)

(* Every record has a field for a voter set. The leader's own records of    *)
(* the quorum have none.                                                    *)
Told(log) ==
  LET end == Len(log)
  IN IF end = 0 \/ "voters" \in DOMAIN log[end] THEN log
     ELSE [log EXCEPT ![end] = [epoch |-> @.epoch, value |-> @.value, voters |-> {},
                                moved |-> {}]]

WithHistory(row, read) ==
  [row EXCEPT !.history = read.history, !.historyEnd = read.historyEnd]

(* The row after a step of the quorum's.                                    *)
Noted(before, after) ==
  LET read == WithHistory(after,
        IF EndOffset(after.log) < EndOffset(before.log)
        THEN HistoryAfterTruncation(before, EndOffset(after.log))
        ELSE HistoryAfterAppend(before, after))
      leads == InForce({})!LeadsSameEpoch(before, after)
      follows == /\ after.role = "Follower" /\ after.epoch = before.epoch
                 /\ after.leader = before.leader
      atEnd == {v \in Nodes : after.endOffsets[v] >= EndOffset(after.log)}
  IN [read EXCEPT
        !.log = Told(@),
        !.caughtUp = IF leads THEN (@ \cup atEnd) \ VotersOf(read) ELSE {},
        !.change = IF leads THEN @ ELSE Undefined,
        !.asks = IF follows THEN @ ELSE "",
        !.hasUpdatedLeader = follows /\ @,
        !.heard = IF leads THEN @ ELSE {}]

(* V22.  What a new leader has: its first record, and the set.              *)
Opened(n, before, outcome) ==
  LET now == Noted(before, outcome.row)
      entry == [epoch |-> now.epoch, value |-> VotersRecord, voters |-> VotersOf(now),
                moved |-> {}]
      longer == [now EXCEPT !.log = Append(@, entry)]
  IN IF /\ now.role = "Leader" /\ WritesBootstrapSet(now)
        /\ ~InForce({})!LeadsSameEpoch(before, now)
     THEN {[written EXCEPT !.row = Noted(now, @), !.sent = @ \cup outcome.sent] :
             written \in InForce(VotersOf(now))!Finish(n, now, longer, {})}
     ELSE {[outcome EXCEPT !.row = now]}

(* The high watermark, a change that it completes and a leader that leaves  *)
(* with it are one step (V20).                                              *)
Settled(n, outcome) ==
  LET now == outcome.row
      done == [now EXCEPT !.change = IF @ < now.highWatermark THEN Undefined ELSE @]
  IN IF LeavesAfterRemoval(n, now)
     THEN {[row |-> Noted(done, left.row), sent |-> outcome.sent \cup left.sent,
            ignored |-> outcome.ignored] :
             left \in InForce(VotersOf(now))!Resign(n, done)}
     ELSE {[outcome EXCEPT !.row = done]}

After(n, before, outcome) == UNION {Settled(n, o) : o \in Opened(n, before, outcome)}

Changed(n, before, outcomes) == UNION {After(n, before, o) : o \in outcomes}

(* The nodes of which a majority commits (V20).                             *)
Counted(n, row) == IF CountsItself(n, row) THEN VotersOf(row) \cup {n} ELSE VotersOf(row) \ {n}

Refuse(row, reason) == {[row |-> row, sent |-> {}, ignored |-> reason]}

-----------------------------------------------------------------------------
(* What a set that changes leaves as it is.                                 *)

Step_HandleVoteRequest(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleVoteRequest(n, row, m))
Step_HandleVoteResponse(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleVoteResponse(n, row, m))
Step_HandleBeginQuorumEpochRequest(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleBeginQuorumEpochRequest(n, row, m))
Step_HandleBeginQuorumEpochResponse(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleBeginQuorumEpochResponse(n, row, m))
Step_HandleEndQuorumEpochRequest(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleEndQuorumEpochRequest(n, row, m))
Step_HandleEndQuorumEpochResponse(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleEndQuorumEpochResponse(n, row, m))
Step_HandleFetchRequest(n, row, m) ==
  Changed(n, row, InForce(Counted(n, row))!Step_HandleFetchRequest(n, row, m))
Step_HandleFetchMaxWait(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleFetchMaxWait(n, row, input))
Step_HandleAppend(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleAppend(n, row, input))
Step_HandleFlush(n, row, input) ==
  Changed(n, row, InForce(Counted(n, row))!Step_HandleFlush(n, row, input))
Step_HandleBeginQuorumEpochTimeout(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleBeginQuorumEpochTimeout(n, row, input))
Step_HandleResign(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleResign(n, row, input))

(* The request in place of a fetch is given up.                             *)
Step_HandleRequestTimeout(n, row, input) ==
  LET left == IF input.peer = row.leader THEN [row EXCEPT !.asks = ""] ELSE row
  IN Changed(n, left, InForce(VotersOf(row))!Step_HandleRequestTimeout(n, left, input))

-----------------------------------------------------------------------------
(* The differences for nodes that are no voters.                            *)

(* V13.  The timers of elections run for voters, and end terms for all.     *)
Step_HandleElectionTimeout(n, row, input) ==
  IF ~MayStand(n, row) /\ row.role # "Resigned" THEN {}
  ELSE Changed(n, row, InForce(VotersOf(row))!Step_HandleElectionTimeout(n, row, input))

Step_HandleFetchTimeout(n, row, input) ==
  IF ~MayStand(n, row) THEN {}
  ELSE Changed(n, row, InForce(VotersOf(row))!Step_HandleFetchTimeout(n, row, input))

(* Q15, V20.                                                                *)
Step_HandleCheckQuorumTimeout(n, row, input) ==
  IF row.role # "Leader" \/ ~CheckQuorumBinds(n, row) THEN {}
  ELSE Changed(n, row, InForce(VotersOf(row))!Resign(n, row))

(* A node with another request waits for no records (V21, V25).             *)
Step_HandleFetchResponse(n, row, m) ==
  LET outcomes == InForce(VotersOf(row))!Step_HandleFetchResponse(n, row, m)
      unflushed(o) == [o EXCEPT !.row.flushed = MinOf(row.flushed, EndOffset(o.row.log))]
  IN IF row.asks # "" /\ m.source = row.leader THEN Refuse(row, "NotAwaited")
     ELSE Changed(n, row,
       IF n \in VotersOf(row) \/ FlushesAsObserver(row) THEN outcomes
       ELSE {unflushed(o) : o \in outcomes})

(* A node that is no voter, and gets no response from a leader, fetches     *)
(* from any other node (V25).                                               *)
Step_HandleFetchFromBootstrap(n, row, input) ==
  IF \/ n \in VotersOf(row)
     \/ row.role \notin {"Unattached", "Follower"}
     \/ input.peer = n \/ row.connections[input.peer] # "Ready" THEN {}
  ELSE Changed(n, row, {InForce(VotersOf(row))!FinishAsking(
         n, row, row, {}, "", {input.peer})})

-----------------------------------------------------------------------------
(* Changes (V14 to V19). `ignored` has Kafka's response. The decision and   *)
(* the record in the log are one step (V18).                                *)

(* `told`: voters of the set that report other listeners.                   *)
AppendVoters(n, row, voters, told) ==
  LET entry == [epoch |-> row.epoch, value |-> VotersRecord, voters |-> voters,
                moved |-> MovedAfter(row, voters, told)]
      longer == [row EXCEPT !.log = Append(@, entry)]
  IN Changed(n, row, InForce(VotersOf(row))!Finish(n, row, longer, {}))

(* The timer of a change runs from here.                                    *)
Timed(row) == [row EXCEPT !.change = EndOffset(row.log)]

Change(n, row, node, refused, told) ==
  CASE ~Running(row) -> {}
    [] row.role # "Leader" -> Refuse(row, "NotLeader")
    [] refused # "" -> Refuse(row, refused)
    [] OTHER -> AppendVoters(n, Timed(row), ChangedVoters(row, node), told)

Step_HandleAddVoter(n, row, input) ==
  Change(n, row, input.voter, AddRefused(row, input.voter), {})

Step_HandleRemoveVoter(n, row, input) ==
  Change(n, row, input.voter, RemoveRefused(row, input.voter), {})

(* V19.  The change is forgotten; its record may be committed yet.          *)
Step_HandleVoterChangeTimeout(n, row, input) ==
  IF row.change = Undefined THEN {} ELSE Refuse([row EXCEPT !.change = Undefined], "")

-----------------------------------------------------------------------------
(* The requests that a follower sends by itself in place of a fetch (V17,   *)
(* V24).                                                                    *)

LeaderRequest(n, row) ==
  LET leader == row.leader
  IN IF row.asks = "AddVoter"
     THEN [type |-> "AddVoterRequest", source |-> n, destination |-> leader, voter |-> n,
           moved |-> row.moved]
     ELSE [type |-> "UpdateVoterRequest", source |-> n, destination |-> leader,
           epoch |-> row.epoch, moved |-> row.moved]

(* Whatever was in flight to the leader is given up for it.                 *)
Ask(n, row, what) ==
  LET asking == [row EXCEPT !.asks = what, !.connections[row.leader] = "Awaiting"]
  IN {[row |-> asking, sent |-> {LeaderRequest(n, asking)}, ignored |-> ""]}

Step_HandleUpdateVoterTimeout(n, row, input) ==
  IF row.role # "Follower" \/ ~UpdatesVoter(n, row) THEN {}
  ELSE Ask(n, row, "UpdateVoter")

Step_HandleAutoJoinTimeout(n, row, input) ==
  IF ~AutoJoin \/ row.role # "Follower" \/ ~JoinsByItself(n, row) THEN {}
  ELSE Ask(n, row, "AddVoter")

(* The leader's answer, in the step that decides.                           *)
Answered(n, type, m, error, outcomes) ==
  {[o EXCEPT !.ignored = "",
     !.sent = @ \cup {[type |-> type, source |-> n, destination |-> m.source, error |-> error,
                       epoch |-> o.row.epoch, leader |-> o.row.leader,
                       request |-> m]}] : o \in outcomes}

(* V15, V24.  Answered when it is in the log (ackWhenCommitted = false).    *)
Step_HandleAddVoterRequest(n, row, m) ==
  LET refused == AddRefused(row, m.voter)
      error == CASE row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
                 [] refused # "" -> refused
                 [] OTHER -> "NONE"
  IN Answered(n, "AddVoterResponse", m, error,
       Change(n, row, m.voter, refused, IF m.moved THEN {m.voter} ELSE {}))

(* Under kraft.version 0 the leader keeps the report in memory. Otherwise   *)
(* it writes it, and no request waits for this change (V17).                *)
Step_HandleUpdateVoterRequest(n, row, m) ==
  LET asked == [epoch |-> m.epoch, fetchOffset |-> 0, lastFetchedEpoch |-> 0]
      known == InForce(VotersOf(row))!FetchRequestError(row, asked)
      refused == IF known = "NONE" THEN UpdateRefused(row, m.source) ELSE known
      others == {each \in row.heard : each.node # m.source}
      heard == [row EXCEPT !.heard = others \cup {[node |-> m.source, moved |-> m.moved]}]
      told == IF m.moved THEN {m.source} ELSE {}
  IN CASE refused # "" -> Answered(n, "UpdateVoterResponse", m, refused, Refuse(row, ""))
       [] KraftVersionOf(row) = 0 ->
            Answered(n, "UpdateVoterResponse", m, "NONE", Refuse(heard, ""))
       [] OTHER -> Answered(n, "UpdateVoterResponse", m, "NONE",
                     AppendVoters(n, row, VotersOf(row), told))

HearOfLeader(n, row, m, updated) ==
  LET inFlight == InForce(VotersOf(row))!RequestInFlight(n, row, m.source)
      nothing(after) == InForce(VotersOf(row))!Finish(n, row, after, {})
      heard == [row EXCEPT !.asks = "", !.hasUpdatedLeader = @ \/ updated]
  IN IF row.asks = "" \/ m.request # LeaderRequest(n, row) THEN Refuse(row, "NotAwaited")
     ELSE Changed(n, heard, InForce(VotersOf(row))!ReceiveResponse(n, heard,
            [m EXCEPT !.request = inFlight], nothing))

Step_HandleUpdateVoterResponse(n, row, m) == HearOfLeader(n, row, m, m.error = "NONE")
Step_HandleAddVoterResponse(n, row, m) == HearOfLeader(n, row, m, FALSE)

-----------------------------------------------------------------------------
(* The upgrade of kraft.version: V23.                                       *)

Step_HandleUpgradeKraftVersion(n, row, input) ==
  LET told == {each.node : each \in {other \in row.heard : other.moved}}
      own == IF row.moved THEN {n} ELSE {}
  IN CASE ~Running(row) -> {}
       [] row.role # "Leader" -> Refuse(row, "NotLeader")
       [] UpgradeRefused(n, row) # "" -> Refuse(row, UpgradeRefused(n, row))
       [] OTHER -> AppendVoters(n, row, VotersOf(row), told \cup own)

-----------------------------------------------------------------------------
(* Crash and restart: what was read of the log is forgotten, and is read    *)
(* again.                                                                   *)

Step_HandleCrash(n, row, input) ==
  {[o EXCEPT !.row.history = <<row.history[1]>>, !.row.historyEnd = 0, !.row.caughtUp = {},
             !.row.change = Undefined, !.row.asks = "", !.row.hasUpdatedLeader = FALSE,
             !.row.heard = {}] :
     o \in InForce(VotersOf(row))!Step_HandleCrash(n, row, input)}

Step_HandleRestart(n, row, input) ==
  LET up == WithHistory(row, HistoryAfterAppend(row, row))
  IN Changed(n, up, InForce(VotersOf(up))!Step_HandleRestart(n, up, input))

(* V17.  It will come back with other listeners.                            *)
Step_HandleChangeListeners(n, row, input) ==
  IF ~ListenersChange \/ row.role # "Down" \/ row.moved THEN {}
  ELSE Refuse([row EXCEPT !.moved = TRUE], "")

(* V10.  A process with an empty disk starts under the id of a node that is *)
(* down.  It is a node of its own, which only observes; its voter is down   *)
(* as before.                                                               *)
Step_HandleReplaceDisk(n, row, input) ==
  CASE row.role # "Down" -> {}
    [] MayReturnEmpty(row) -> Refuse(InitialRow(n), "")
    [] OTHER -> Refuse(row, "INVALID_VOTER_KEY")
=============================================================================
