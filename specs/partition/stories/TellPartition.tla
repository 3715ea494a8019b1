---------------------------- MODULE TellPartition ----------------------------
(***************************************************************************)
(* A counterexample of the partition's reduced composition, told as         *)
(* messages.  As TellQuorum: the steps of Story are taken again in every    *)
(* way that MCPartitionReduced allows, and the way says what happened.      *)
(***************************************************************************)
EXTENDS MCPartitionReduced

CONSTANT Story        \* <<[rows, controller, metadata, network, spent], ...>>

VARIABLES at, told

Told(what, n, messages) == [what |-> what, node |-> n, messages |-> messages]

(* Ways are made of states (see Normal) and of what is said of them.        *)
Way(s, said) == [state |-> s, told |-> said]
WaysOf(states, what, n, messages) == {Way(s, Told(what, n, messages)) : s \in states}

RECURSIVE InSomeOrder(_)
InSomeOrder(messages) ==
  IF messages = {} THEN <<>>
  ELSE LET m == CHOOSE m \in messages : TRUE IN <<m>> \o InSomeOrder(messages \ {m})

(* A fetch: its request, and the answer where it is used at once or rests.  *)
FetchWays(n) ==
  IF ~Owes(rows[n]) \/ ~IsUp(rows[rows[n].leader]) THEN {}
  ELSE LET m == FetchOf(n, rows[n]) IN
       UNION {LET replies == RepliesIn(o, "ReplicaFetchResponse")
                  alone == [Now EXCEPT !.rows[m.destination] = o.row, !.acked = AckedIn(o.sent)]
              IN {Way(s, Told("fetches", n,
                         <<m>> \o (IF AtomicFetch /\ s = alone THEN <<>>
                                   ELSE InSomeOrder(replies)))) : s \in AfterServing(m, o)} :
              o \in Served(m)}

OldFetchWays(n) ==
  UNION {WaysOf({[Now EXCEPT !.rows[n] = o.row, !.acked = AckedIn(o.sent)] : o \in Served(m)},
                "receives a fetch of before", n, <<m>>) :
         m \in {m \in network : m.type = "ReplicaFetchRequest" /\ m.destination = n}}

ResponseWays(n) ==
  UNION {WaysOf({[s EXCEPT !.network = @ \ {m}] : s \in After(n, Using(n, rows[n], m))},
                "uses the answer to its fetch", n, <<m>>) :
         m \in Arrived("ReplicaFetchResponse", n)}

AlterWays(n) ==
  LET m == AlterOf(n, rows[n]) IN
  IF ~IsLeader(rows[n]) \/ ~MaySendAlterPartition(rows[n]) THEN {}
  ELSE UNION {WaysOf({[WithController(Now, o) EXCEPT
                         !.network = Replaced(@, "AlterPartitionResponse", n,
                                              RepliesIn(o, "AlterPartitionResponse"))]},
                     "proposes another ISR", n,
                     <<m>> \o InSomeOrder(RepliesIn(o, "AlterPartitionResponse"))) :
              o \in AlterServed(m)}

OldAlterWays ==
  UNION {WaysOf(AfterController(AlterServed(m)), "receives a proposal of before", Controller,
                <<m>>) :
         m \in Arrived("AlterPartitionRequest", Controller)}

AlterResponseWays(n) ==
  UNION {WaysOf({[s EXCEPT !.network =
                    (@ \ {m}) \cup IF "AlterAgain" \in KeepOld THEN {m.request} ELSE {}] :
                   s \in After(n, UsingAlter(n, rows[n], m))},
                "uses the answer to its proposal", n, <<m>>) :
         m \in Arrived("AlterPartitionResponse", n)}

(* What needs no message of its own, or one that says nothing more.         *)
OtherWays(n) ==
  WaysOf(AfterReading(n), "reads metadata", n, <<>>)
  \cup WaysOf(AfterLag(n), "sees that a follower lags", n, <<>>)
  \cup WaysOf(AfterShrink(n), "decides to shrink the ISR", n, <<>>)
  \cup WaysOf(AfterHeartbeat(n), "sends a heartbeat", n, <<>>)
  \cup WaysOf(AfterJoining(n), "registers and catches up with metadata", n, <<>>)
  \cup (IF IsRegistered(n) THEN {}
        ELSE WaysOf(AfterSilence(n), "is gone, and fenced by the controller", n, <<>>))

BudgetedWays(n, next) ==
  (IF next.records # spent.records
   THEN WaysOf(AfterProduce(n, spent.records + 1), "is sent a record by a producer", n, <<>>)
   ELSE {})
  \cup (IF next.retries # spent.retries
        THEN UNION {WaysOf(AfterProduce(n, value), "is sent a record again", n, <<>>) :
                    value \in 1..spent.records}
        ELSE {})
  \cup (IF next.fences # spent.fences /\ IsRegistered(n)
        THEN WaysOf(AfterSilence(n), "is well, and fenced by the controller", n, <<>>) ELSE {})
  \cup (IF next.crashes # spent.crashes /\ IsRegistered(n)
        THEN WaysOf(UNION {AfterCrash(n, keep, checkpoint, corrupt) :
                       <<keep, checkpoint, corrupt>> \in
                         {<<k, h, c>> \in Keeps(rows[n])
                                        \X (rows[n].logStart..rows[n].highWatermark)
                                        \X (Offsets(rows[n].log)) : c \in Corrupts(rows[n], k)}},
                     "crashes and restarts", n, <<>>)
        ELSE {})
  \cup (IF next.stops # spent.stops THEN WaysOf(AfterStopping(n), "is asked to stop", n, <<>>)
        ELSE {})
  \cup (IF next.deletes # spent.deletes
        THEN WaysOf(AfterDelete(n), "deletes records", n, <<>>) ELSE {})

Ways ==
  LET next == Story[at + 1].spent IN
  IF next # spent THEN UNION {BudgetedWays(n, next) : n \in Brokers}
  ELSE UNION {FetchWays(n) \cup OldFetchWays(n) \cup ResponseWays(n) \cup AlterWays(n)
              \cup AlterResponseWays(n) \cup OtherWays(n) : n \in Brokers}
       \cup OldAlterWays
       \cup WaysOf(AfterElection("PREFERRED"), "elects a leader, as asked", Controller, <<>>)

Fits(s, next) ==
  /\ s.rows = next.rows /\ s.controller = next.controller
  /\ s.unread = next.metadata /\ s.network = next.network

Best(ways) ==
  CHOOSE w \in ways : \A v \in ways : Len(w.told.messages) >= Len(v.told.messages)

TellInit ==
  /\ at = 1 /\ told = Told("begins", Nobody, <<>>)
  /\ rows = Story[1].rows /\ controller = Story[1].controller
  /\ metadata = Story[1].metadata /\ network = Story[1].network /\ spent = Story[1].spent
  /\ HistoryInit

TellNext ==
  /\ at < Len(Story)
  /\ LET fitting == {w \in Ways : Fits(Normal(w.state), Story[at + 1])}
     IN told' = IF fitting = {} THEN Told("?", Nobody, <<>>) ELSE Best(fitting).told
  /\ at' = at + 1
  /\ rows' = Story[at + 1].rows /\ controller' = Story[at + 1].controller
  /\ metadata' = Story[at + 1].metadata /\ network' = Story[at + 1].network
  /\ spent' = Story[at + 1].spent
  /\ UNCHANGED <<committed, acked>>

NotOver == at < Len(Story)
==============================================================================
