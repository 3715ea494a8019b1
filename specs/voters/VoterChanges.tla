---------------------------- MODULE VoterChanges -----------------------------
(***************************************************************************)
(* What a controller does where the voters change (KIP-853).  Each step is  *)
(* a step of the quorum (QuorumHandlers) under the set that is in force at  *)
(* its node; a node that is none of them is an observer.  After it the node *)
(* reads from its log which set is in force now.                            *)
(*                                                                          *)
(* Python twin: reference/voters/handlers.py.                               *)
(*                                                                          *)
(* Not modelled here: snapshots, directory ids but for a disk that is       *)
(* replaced (a node is a voter's key; UpdateVoter), the change from         *)
(* kraft.version 0, the ApiVersions exchange of an Add, auto-join, clocks   *)
(* (a node that was caught up once in an epoch remains so, V15).  Every     *)
(* node begins with the bootstrap set, so the first leader need not write   *)
(* it (V22).                                                                *)
(***************************************************************************)
EXTENDS VoterRules

InForce(Voters) == INSTANCE QuorumHandlers

Running(row) == InForce({})!Running(row.quorum)

(***************************************************************************)
(* The row.                                                                 *)
(*   quorum       the row of the quorum; its functions are of all nodes     *)
(*   history      volatile: the sets that were read from the log, with      *)
(*                their offsets, the bootstrap set first                    *)
(*   historyEnd   volatile: up to where the log was read                    *)
(*   caughtUp     leader: who is no voter and was at the end of its log in  *)
(*                this epoch                                                *)
(*   change       leader: the offset of the change whose timer runs, or -1  *)
(***************************************************************************)
InitialRow(n) ==
  [quorum |-> InForce(Nodes)!InitialRow(n),
   history |-> <<[offset |-> Undefined, voters |-> FirstVoters]>>, historyEnd |-> 0,
   caughtUp |-> {}, change |-> Undefined]

-----------------------------------------------------------------------------
(* The end of every step: what the log says now, and what the leader makes  *)
(* of it.                                                                   *)

(* Every record says which set it has.  Those that a leader writes of the   *)
(* quorum have none.                                                        *)
Told(log) ==
  LET end == Len(log)
  IN IF end = 0 \/ "voters" \in DOMAIN log[end] THEN log
     ELSE [log EXCEPT ![end] = [epoch |-> @.epoch, value |-> @.value, voters |-> {}]]

WithHistory(row, read) ==
  [row EXCEPT !.history = read.history, !.historyEnd = read.historyEnd]

(* The row that has `quorum` where `before` had another one.                *)
Noted(before, quorum) ==
  LET read == WithHistory(before,
        IF EndOffset(quorum.log) < EndOffset(before.quorum.log)
        THEN HistoryAfterTruncation(before, EndOffset(quorum.log))
        ELSE HistoryAfterAppend(before, quorum))
      leads == InForce({})!LeadsSameEpoch(before.quorum, quorum)
      atEnd == {v \in Nodes : quorum.endOffsets[v] >= EndOffset(quorum.log)}
  IN [read EXCEPT
        !.quorum = [quorum EXCEPT !.log = Told(@)],
        !.caughtUp = IF leads THEN (@ \cup atEnd) \ VotersOf(read) ELSE {},
        !.change = IF leads THEN @ ELSE Undefined]

(* The high watermark, a change that it completes and a leader that leaves  *)
(* with it are one step (V20).                                              *)
After(n, before, outcome) ==
  LET now == Noted(before, outcome.row)
      done == [now EXCEPT !.change = IF @ < now.quorum.highWatermark THEN Undefined ELSE @]
  IN IF LeavesAfterRemoval(n, now)
     THEN {[row |-> Noted(done, left.row), sent |-> outcome.sent \cup left.sent,
            ignored |-> outcome.ignored] :
             left \in InForce(VotersOf(now))!Resign(n, now.quorum)}
     ELSE {[outcome EXCEPT !.row = done]}

Changed(n, before, outcomes) == UNION {After(n, before, o) : o \in outcomes}

(* Of whom a majority commits: V20.                                         *)
Counted(n, row) == IF CountsItself(n, row) THEN VotersOf(row) \cup {n} ELSE VotersOf(row) \ {n}

Refuse(row, reason) == {[row |-> row, sent |-> {}, ignored |-> reason]}

-----------------------------------------------------------------------------
(* What a set that changes leaves as it is.                                 *)

Step_HandleVoteRequest(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleVoteRequest(n, row.quorum, m))
Step_HandleVoteResponse(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleVoteResponse(n, row.quorum, m))
Step_HandleBeginQuorumEpochRequest(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleBeginQuorumEpochRequest(n, row.quorum, m))
Step_HandleBeginQuorumEpochResponse(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleBeginQuorumEpochResponse(n, row.quorum, m))
Step_HandleEndQuorumEpochRequest(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleEndQuorumEpochRequest(n, row.quorum, m))
Step_HandleEndQuorumEpochResponse(n, row, m) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleEndQuorumEpochResponse(n, row.quorum, m))
Step_HandleFetchRequest(n, row, m) ==
  Changed(n, row, InForce(Counted(n, row))!Step_HandleFetchRequest(n, row.quorum, m))
Step_HandleFetchMaxWait(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleFetchMaxWait(n, row.quorum, input))
Step_HandleAppend(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleAppend(n, row.quorum, input))
Step_HandleFlush(n, row, input) ==
  Changed(n, row, InForce(Counted(n, row))!Step_HandleFlush(n, row.quorum, input))
Step_HandleBeginQuorumEpochTimeout(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleBeginQuorumEpochTimeout(n, row.quorum, input))
Step_HandleResign(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleResign(n, row.quorum, input))
Step_HandleRequestTimeout(n, row, input) ==
  Changed(n, row, InForce(VotersOf(row))!Step_HandleRequestTimeout(n, row.quorum, input))

-----------------------------------------------------------------------------
(* What is otherwise for who is no voter.                                   *)

(* V13.  The timers of elections run for voters, and end terms for all.     *)
Step_HandleElectionTimeout(n, row, input) ==
  IF ~MayStand(n, row) /\ row.quorum.role # "Resigned" THEN {}
  ELSE Changed(n, row, InForce(VotersOf(row))!Step_HandleElectionTimeout(n, row.quorum, input))

Step_HandleFetchTimeout(n, row, input) ==
  IF ~MayStand(n, row) THEN {}
  ELSE Changed(n, row, InForce(VotersOf(row))!Step_HandleFetchTimeout(n, row.quorum, input))

(* Q15, V20.                                                                *)
Step_HandleCheckQuorumTimeout(n, row, input) ==
  IF row.quorum.role # "Leader" \/ ~CheckQuorumBinds(n, row) THEN {}
  ELSE Changed(n, row, InForce(VotersOf(row))!Resign(n, row.quorum))

(* V21, V25.                                                                *)
Step_HandleFetchResponse(n, row, m) ==
  LET outcomes == InForce(VotersOf(row))!Step_HandleFetchResponse(n, row.quorum, m)
      unflushed(o) == [o EXCEPT !.row.flushed = MinOf(row.quorum.flushed, EndOffset(o.row.log))]
  IN Changed(n, row,
       IF n \in VotersOf(row) \/ FlushesAsObserver(row) THEN outcomes
       ELSE {unflushed(o) : o \in outcomes})

(* V25.  Who is no voter and hears from no leader asks any other node.      *)
Step_HandleFetchFromBootstrap(n, row, input) ==
  IF \/ n \in VotersOf(row)
     \/ row.quorum.role \notin {"Unattached", "Follower"}
     \/ input.peer = n \/ row.quorum.connections[input.peer] # "Ready" THEN {}
  ELSE Changed(n, row, {InForce(VotersOf(row))!FinishAsking(
         n, row.quorum, row.quorum, {}, "", {input.peer})})

-----------------------------------------------------------------------------
(* Changes: V14 to V19.  Whoever asks is told by `ignored` what Kafka       *)
(* answers; the decision and the record in the log are one step (V18).      *)

AppendVoters(n, row, voters) ==
  LET quorum == row.quorum
      entry == [epoch |-> quorum.epoch, value |-> VotersRecord, voters |-> voters]
      longer == [quorum EXCEPT !.log = Append(@, entry)]
  IN Changed(n, [row EXCEPT !.change = EndOffset(quorum.log)],
       InForce(VotersOf(row))!Finish(n, quorum, longer, {}))

Change(n, row, node, refused) ==
  CASE ~Running(row) -> {}
    [] row.quorum.role # "Leader" -> Refuse(row, "NotLeader")
    [] refused # "" -> Refuse(row, refused)
    [] OTHER -> AppendVoters(n, row, ChangedVoters(row, node))

Step_HandleAddVoter(n, row, input) ==
  Change(n, row, input.voter, AddRefused(row, input.voter))

Step_HandleRemoveVoter(n, row, input) ==
  Change(n, row, input.voter, RemoveRefused(row, input.voter))

(* V19.  The change is forgotten; its record may be committed yet.          *)
Step_HandleVoterChangeTimeout(n, row, input) ==
  IF row.change = Undefined THEN {} ELSE Refuse([row EXCEPT !.change = Undefined], "")

-----------------------------------------------------------------------------
(* Crash and restart: what was read of the log is forgotten, and is read    *)
(* again.                                                                   *)

Step_HandleCrash(n, row, input) ==
  {[o EXCEPT !.row = [quorum |-> o.row, history |-> <<row.history[1]>>, historyEnd |-> 0,
                      caughtUp |-> {}, change |-> Undefined]] :
     o \in InForce(VotersOf(row))!Step_HandleCrash(n, row.quorum, input)}

Step_HandleRestart(n, row, input) ==
  LET up == WithHistory(row, HistoryAfterAppend(row, row.quorum))
  IN Changed(n, up, InForce(VotersOf(up))!Step_HandleRestart(n, up.quorum, input))

(* V10.  A process with an empty disk starts under the id of a node that is *)
(* down.  It is a node of its own, which only observes; its voter is down   *)
(* as before.                                                               *)
Step_HandleReplaceDisk(n, row, input) ==
  CASE row.quorum.role # "Down" -> {}
    [] MayReturnEmpty(row) -> Refuse(InitialRow(n), "")
    [] OTHER -> Refuse(row, "INVALID_VOTER_KEY")
=============================================================================
