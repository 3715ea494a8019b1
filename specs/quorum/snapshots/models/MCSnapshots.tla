----------------------------- MODULE MCSnapshots ------------------------------
(***************************************************************************)
(* Snapshots in the reduced composition of MCVoters, with the same          *)
(* reductions. A snapshot is fetched in two exchanges: the first refers to  *)
(* it, the second returns it. Anything may happen in between.               *)
(***************************************************************************)
EXTENDS SnapshotProperties, TLC

CONSTANTS
  MaxEpoch, MaxRecords, MaxChanges, MaxExpiries, MaxCrashes,
  MaxSnapshots, MaxCleanings,
  Moves, KeepWatermarks, Seeded

VARIABLE spent    \* how much of each budget has been used

mcVars == <<rows, committed, spent>>

MC == INSTANCE MCVoters

Symmetry == MC!Symmetry
None == MC!None
Leads(n) == MC!Leads(n)

(* Where no snapshot is left to be made, a follower needs no high           *)
(* watermark, unless it reads up to it.                                     *)
Normal(row) ==
  IF spent.snapshots = MaxSnapshots /\ ~StateMachines THEN MC!Normal(row)
  ELSE [MC!Normal(row) EXCEPT !.highWatermark = row.highWatermark]

Becomes(n, outcomes) == {[rows EXCEPT ![n] = Normal(o.row)] : o \in outcomes}

-----------------------------------------------------------------------------
(* Exchanges.                                                               *)

Serve(p, row, m) ==
  CASE m.type = "VoteRequest" -> Step_HandleVoteRequest(p, row, m)
    [] m.type = "BeginQuorumEpochRequest" -> Step_HandleBeginQuorumEpochRequest(p, row, m)
    [] m.type = "FetchSnapshotRequest" -> Step_HandleFetchSnapshotRequest(p, row, m)
    [] m.type = "FetchRequest" ->
         UNION {IF m \in o.row.parked
                THEN Step_HandleFetchMaxWait(p, o.row, [request |-> m])
                ELSE {o} : o \in Step_HandleFetchRequest(p, row, m)}

Use(n, row, m) ==
  LET awaiting == [row EXCEPT !.connections[m.source] = "Awaiting"]
  IN CASE m.type = "VoteResponse" -> Step_HandleVoteResponse(n, awaiting, m)
       [] m.type = "BeginQuorumEpochResponse" ->
            Step_HandleBeginQuorumEpochResponse(n, awaiting, m)
       [] m.type = "FetchSnapshotResponse" -> Step_HandleFetchSnapshotResponse(n, awaiting, m)
       [] m.type = "FetchResponse" -> Step_HandleFetchResponse(n, awaiting, m)

Replies(outcome, m) ==
  {r \in outcome.sent :
     /\ r.type \in {"VoteResponse", "BeginQuorumEpochResponse", "FetchResponse",
                    "FetchSnapshotResponse"}
     /\ r.request = m}

AfterExchange(n, p) ==
  LET row == rows[n]
      asked == InForce(VotersOf(row))!RequestInFlight(n, row, p)
      m == IF row.download = NoId THEN asked ELSE FetchSnapshotRequest(row, asked)
      served == Serve(p, rows[p], m)
  IN Becomes(p, served) \cup
     UNION {UNION {{[rows EXCEPT ![p] = Normal(s.row), ![n] = Normal(used.row)] :
                      used \in Use(n, row, reply)} : reply \in Replies(s, m)} :
            s \in served}

-----------------------------------------------------------------------------
(* Local steps.                                                             *)

Free(n) ==
  \/ \E p \in MC!Asked(n) : rows' \in AfterExchange(n, p)
  \/ rows' \in Becomes(n, Kept(rows[n], MC!Stands(n)))
  \/ rows' \in Becomes(n, Kept(rows[n], MC!LearnsEpoch(n)))
  \/ rows' \in Becomes(n, Step_HandleFlush(n, rows[n], None))
  \/ rows' \in Becomes(n, Step_HandleResign(n, rows[n], None))

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Budgeted(n) ==
  \/ /\ Leads(n) /\ Spend("records", MaxRecords)
     /\ rows' \in Becomes(n, Step_HandleAppend(n, rows[n],
                             [type |-> "Append", value |-> spent.records + 1]))
  \/ /\ Leads(n) /\ "Add" \in Moves /\ Spend("changes", MaxChanges)
     /\ \E v \in Nodes :
          rows' \in Becomes(n, Step_HandleAddVoter(n, rows[n], [type |-> "AddVoter", voter |-> v]))
  \/ /\ Leads(n) /\ "Remove" \in Moves /\ Spend("changes", MaxChanges)
     /\ \E v \in Nodes :
          rows' \in Becomes(n,
            Step_HandleRemoveVoter(n, rows[n], [type |-> "RemoveVoter", voter |-> v]))
  \/ /\ Spend("snapshots", MaxSnapshots)
     /\ \E end \in 1..Len(rows[n].log) :
          rows' \in Becomes(n, Step_HandleCreateSnapshot(n, rows[n], [end |-> end]))
  \/ /\ Spend("cleanings", MaxCleanings)
     /\ \E offset \in 1..Len(rows[n].log) :
          rows' \in Becomes(n, Step_HandleCleanSnapshots(n, rows[n], [offset |-> offset]))
  \/ /\ Spend("crashes", MaxCrashes)
     /\ \E keep \in rows[n].flushed..Len(rows[n].log) :
          rows' \in Becomes(n, UNION {Step_HandleRestart(n, down.row, None) :
                       down \in Step_HandleCrash(n, rows[n], [keep |-> keep])})

Whole(voters) == [n \in Nodes |-> voters[n] @@ InitialRow(n)]

MCInit ==
  /\ IF Seeded
     THEN /\ rows \in {Whole(MC!Seed(l, MaxRecords)) : l \in FirstVoters}
          /\ committed = <<[epoch |-> 1, value |-> LeaderChange, voters |-> {}, moved |-> {}]>>
     ELSE rows = [n \in Nodes |-> InitialRow(n)] /\ committed = <<>>
  /\ spent = [records |-> IF Seeded THEN MaxRecords ELSE 0, changes |-> 0, expiries |-> 0,
              crashes |-> 0, snapshots |-> 0, cleanings |-> 0]

(* Two tails that part: l leads epoch 1 and has records that nobody else    *)
(* has, d has led epoch 2 and has its first record alone; both have stopped *)
(* leading.                                                                 *)
Parted(l, d) ==
  LET seed == MC!Seed(l, MaxRecords)
      idle(n) == [V!InitialRow(n) EXCEPT
        !.role = "Unattached", !.epoch = 3, !.quorumState.epoch = 3,
        !.log = seed[n].log, !.flushed = seed[n].flushed, !.epochCache = seed[n].epochCache,
        !.historyEnd = seed[n].historyEnd]
      led(row) == [row EXCEPT
        !.log = Append(@, [epoch |-> 2, value |-> LeaderChange, voters |-> {}, moved |-> {}]),
        !.flushed = @ + 1, !.historyEnd = @ + 1,
        !.epochCache = Append(@, [epoch |-> 2, start |-> 1])]
  IN Whole([n \in Nodes |-> IF n = d THEN led(idle(n)) ELSE idle(n)])

PartedInit ==
  /\ \E l, d \in FirstVoters : l # d /\ rows = Parted(l, d)
  /\ committed = <<[epoch |-> 1, value |-> LeaderChange, voters |-> {}, moved |-> {}]>>
  /\ spent = [records |-> MaxRecords, changes |-> 0, expiries |-> 0, crashes |-> 0,
              snapshots |-> 0, cleanings |-> 0]

MCNext ==
  /\ \E n \in Nodes : Running(rows[n]) /\ ((Free(n) /\ UNCHANGED spent) \/ Budgeted(n))
  /\ rows' # rows
  /\ committed' = CommittedAfter(committed, rows')

MCSpec == MCInit /\ [][MCNext]_mcVars
PartedSpec == PartedInit /\ [][MCNext]_mcVars

WithinEpochs == \A n \in Nodes : rows[n].epoch <= MaxEpoch

NoIllegalJoin == [][NoIllegalJoinStep]_mcVars
LoadsCommitted == [][LoadsCommittedStep]_mcVars

-----------------------------------------------------------------------------
(* Probes: each must be violated (non-vacuity).                             *)

NoDownloadProbe == \A n \in Nodes : rows[n].download = NoId
Loads(n) == rows[n].download # NoId /\ rows'[n].logStart > rows[n].logStart
NoLoadProbe == [][\A n \in Nodes : ~Loads(n)]_mcVars
NoObserverLoadsProbe == [][\A n \in Nodes \ FirstVoters : ~Loads(n)]_mcVars
NoLoadReplacesRecordsProbe ==
  [][\A n \in Nodes : Loads(n) =>
       IsPrefixOf(rows[n].log, rows'[n].log)]_mcVars
NoSnapshotNotFoundProbe ==
  [][\A n \in Nodes :
       ~(/\ rows[n].download # NoId /\ rows'[n].download = NoId
         /\ rows'[n].role = "Follower"
         /\ rows'[n].logStart = rows[n].logStart)]_mcVars
NoDeposedAfterSnapshotProbe ==
  [][\A n \in Nodes :
       LET deposed == IsActive(rows[n]) /\ Running(rows'[n]) /\ ~IsActive(rows'[n])
           end == Latest(rows[n].snapshots).endOffset
       IN ~(deposed /\ spent.crashes > 0 /\ rows[n].snapshots # {}
            /\ rows[n].machine.stable.endOffset > end)]_mcVars
=============================================================================
