------------------------- MODULE MCPartitionLiveness -------------------------
(***************************************************************************)
(* Liveness of a partition.  Faults are budgets: crashes, sessions that     *)
(* time out, clean stops, requested elections, followers that               *)
(* were slow for replica.lag.time.max.ms.  After them what heals is fair:   *)
(* metadata is read, heartbeats and registrations reach the controller, the *)
(* session of a broker that is gone times out, fetches are answered, and so *)
(* are proposals.  Any of these messages may be lost, but not for ever.     *)
(* The timer of lag is fair only where a model says so; what needs it waits *)
(* for as long as replica.lag.time.max.ms.                                  *)
(*                                                                          *)
(* No symmetry, view or constraint: with those TLC's temporal check would   *)
(* be unsound.  MaxLeaderEpoch is out of reach; epochs grow only through    *)
(* the budgets.  A state's normal form keeps the purgatory and who is       *)
(* caught up, for here it would not do to allow more.                       *)
(***************************************************************************)
EXTENDS MCPartitionReduced

CONSTANTS
  MaxElections, MaxLags,
  Mute,                \* brokers whose fetches never arrive
  Fair

ASSUME AtomicFetch /\ KeepParked /\ KeepCaughtUp

LiveInit ==
  /\ \E s \in Beginnings :
       /\ rows = s.rows /\ controller = s.controller
       /\ metadata = s.unread /\ network = s.network
  /\ HistoryInit
  /\ spent = [records |-> 0, crashes |-> 0, fences |-> 0, stops |-> 0, deletes |-> 0,
               retries |-> 0, elections |-> 0, lags |-> 0]

SlowDown(n) == Spend("lags", MaxLags) /\ Lag(n)
AskForElection == Spend("elections", MaxElections) /\ Become(AfterElection("PREFERRED"))

LiveFree(n) ==
  \/ n \notin Mute /\ Fetch(n)
  \/ ReadMetadata(n) \/ Shrink(n) \/ Alter(n) \/ AlterResponse(n)
  \/ Heartbeat(n) \/ Join(n) \/ FenceGone(n)
  \/ "Lag" \in Fair /\ Lag(n)

LiveNext ==
  /\ \/ \E n \in Brokers : (UNCHANGED spent /\ LiveFree(n)) \/ Budgeted(n) \/ SlowDown(n)
     \/ AskForElection
  /\ Changed

-----------------------------------------------------------------------------
(* Fairness, spelt out with state predicates: TLC takes long for the        *)
(* ENABLED of a handler.  What heals is three groups, and none of them can  *)
(* continue for ever while the others pause, so that weak fairness of       *)
(* each is enough.  `Fair` leaves parts out for the twins, which must fail. *)

If(part, states) == IF part \in Fair THEN states ELSE {}

(* A fetch that is answered, and whose answer arrives.                      *)
AfterExchange(m, o) ==
  LET s == [Now EXCEPT !.rows[m.destination] = o.row, !.acked = AckedIn(o.sent)]
  IN UNION {{[s EXCEPT !.rows[m.source] = used.row] :
              used \in Using(m.source, rows[m.source], reply)} :
            reply \in RepliesIn(o, "ReplicaFetchResponse")}

Exchanged(n) ==
  IF n \in Mute \/ ~Owes(rows[n]) \/ ~IsUp(rows[rows[n].leader]) THEN {}
  ELSE UNION {AfterExchange(FetchOf(n, rows[n]), o) : o \in Served(FetchOf(n, rows[n]))}

Controlled(n) ==
  If("Read", AfterReading(n))
  \cup If("Heartbeat", AfterHeartbeat(n))
  \cup If("Join", AfterJoining(n))
  \cup If("Session", IF IsRegistered(n) THEN {} ELSE AfterSilence(n))

Altered(n) ==
  If("Alter", AfterAlter(n) \cup AfterAlterResponse(n))
  \cup If("Lag", AfterLag(n) \cup AfterShrink(n))

(* Those of the states that differ from this one.                           *)
Moves(states) ==
  {s \in {Normal(x) : x \in states} :
     <<s.rows, s.controller, s.unread, s.network>> # <<rows, controller, metadata, network>>}

ControlMoves == Moves(UNION {Controlled(n) : n \in Brokers})
FetchMoves == Moves(If("Fetch", UNION {Exchanged(n) : n \in Brokers}))
AlterMoves == Moves(UNION {Altered(n) : n \in Brokers})

Taken(moves) ==
  /\ UNCHANGED spent
  /\ \E s \in moves : /\ rows' = s.rows /\ controller' = s.controller
                      /\ metadata' = s.unread /\ network' = s.network

Fairness ==
  /\ []<>(ControlMoves = {}) \/ []<><<Taken(ControlMoves)>>_mcVars
  /\ []<>(FetchMoves = {}) \/ []<><<Taken(FetchMoves)>>_mcVars
  /\ []<>(AlterMoves = {}) \/ []<><<Taken(AlterMoves)>>_mcVars

LiveSpec == LiveInit /\ [][LiveNext]_mcVars /\ Fairness

-----------------------------------------------------------------------------
(* Every running broker knows who leads, and the leader knows the ISR.      *)
KnowsMetadata(n) ==
  /\ metadata[n] = <<>>
  /\ rows[n].leader = ChosenLeader /\ rows[n].leaderEpoch = controller.partition.leaderEpoch
  /\ IsLeader(rows[n]) => rows[n].isr = controller.partition.isr

EventuallyMetadataConverges == []<>(\A n \in Brokers : IsRunning(n) => KnowsMetadata(n))

(* A fenced broker that is healthy, or has come back, is unfenced.          *)
EventuallyUnfenced ==
  \A n \in Brokers :
    (rows[n].status # "ShuttingDown" /\ controller.registrations[n].fenced)
      ~> ~controller.registrations[n].fenced

(* P11.  A proposal is confirmed, reverted, or overtaken by metadata.       *)
PendingAlterPartitionResolved ==
  \A n \in Brokers : (rows[n].pending # NoPending) ~> (rows[n].pending = NoPending)

(* Every running broker that is not stopping is eventually in sync.         *)
EventuallyInSync ==
  []<>(\A n \in Brokers : rows[n].status # "ShuttingDown" => n \in controller.partition.isr)

(* P19.  Who waits in the purgatory is answered, without a time-out.        *)
EventuallyWriteAccepted ==
  \A n \in Brokers : (rows[n].parked # {}) ~> (rows[n].parked = {})

(* What was acked reaches every broker that lives.                          *)
EventuallyAckedFullyReplicated ==
  \A value \in 1..MaxRecords :
    (value \in acked) ~> (\A n \in Brokers : IsRunning(n) => value \in ValuesIn(rows[n].log))
=============================================================================
