----------------------------- MODULE TellQuorum ------------------------------
(***************************************************************************)
(* A counterexample of the reduced composition, told as messages.  Story is *)
(* the sequence of states that TLC printed; here the same steps are taken   *)
(* again, each in every way that the composition allows, and the way says   *)
(* what happened.  The fused exchanges come apart again: the request that   *)
(* was served, and the response that was used.                              *)
(*                                                                          *)
(* Law of this file: what a step does is said by the operators of           *)
(* MCQuorumReduced and its handlers, with whatever bug is in them; nothing  *)
(* here decides anything.                                                   *)
(***************************************************************************)
EXTENDS MCQuorumReduced

CONSTANT Story        \* <<[rows, network, spent], ...>>

VARIABLES at, told

tellVars == <<rows, network, committed, ballots, appended, spent, at, told>>

Told(what, n, messages) == [what |-> what, node |-> n, messages |-> messages]
Way(newRows, said) == [rows |-> newRows, told |-> said]

(* n asks p; the answer is used, or the request alone arrives.              *)
ExchangeWays(what, n, asker, p) ==
  LET m == RequestInFlight(n, asker, p) IN
  UNION {{Way([rows EXCEPT ![p] = Normal(served.row)], Told(what, n, <<m>>))}
         \cup UNION {{Way([rows EXCEPT ![p] = Normal(served.row), ![n] = Normal(used.row)],
                          Told(what, n, <<m, reply>>)) :
                        used \in Use(n, asker, reply)} :
                     reply \in Replies(served, m)} :
         served \in Served(p, rows[p], m)}

LocalWays(what, n, outcomes) ==
  {Way([rows EXCEPT ![n] = Normal(o.row)], Told(what, n, <<>>)) : o \in outcomes}

Peers(n) == {p \in Others(n) : Running(rows[p])}

AskWays(n) ==
  LET row == rows[n] IN
  CASE row.role \in {"Candidate", "Prospective"} ->
         UNION {ExchangeWays("asks for a vote", n, row, p) : p \in Peers(n)}
    [] row.role = "Follower" ->
         IF row.leader \in Peers(n) THEN ExchangeWays("fetches", n, row, row.leader) ELSE {}
    [] row.role = "Leader" ->
         UNION {ExchangeWays("tells that it leads", n, row, p) : p \in Peers(n)}
    [] OTHER -> {}

PreVoteWays(n) ==
  UNION {UNION {ExchangeWays("times out and asks for a pre-vote", n, prospective.row, p) :
                p \in Peers(n)}
         \cup LocalWays("times out twice, without a pre-vote", n,
                        Step_HandleElectionTimeout(n, prospective.row, None))
         \cup LocalWays("times out", n, {prospective}) : prospective \in TimeOut(n)}

UseWays(n) ==
  UNION {{Way([rows EXCEPT ![n] = Normal(used.row)], Told("is answered", n, <<r>>)) :
            used \in Use(n, rows[n], r)} :
         r \in {r \in network : r.destination = n}}

OwnWays(n) ==
  (IF rows[n].role \in {"Resigned", "Prospective"}
   THEN LocalWays("times out", n, Step_HandleElectionTimeout(n, rows[n], None)) ELSE {})
  \cup UNION {LocalWays("hears of a later epoch", n,
                        Finish(n, rows[n], BecomeUnattached(rows[n], epoch), {})) :
              epoch \in UNION {(rows[n].epoch + 1)..rows[v].epoch : v \in Others(n)}}
  \cup LocalWays("flushes", n, Step_HandleFlush(n, rows[n], None))
  \cup LocalWays("resigns", n, Step_HandleResign(n, rows[n], None))
  \cup (IF IsLeader(rows[n])
        THEN LocalWays("appends a record", n,
               Step_HandleAppend(n, rows[n], [type |-> "Append", value |-> spent.records + 1]))
        ELSE {})

(* Only a step that spends a crash is one: elsewhere the same rows may come *)
(* of something that happens.                                               *)
CrashWays(n) ==
  UNION {UNION {LocalWays("crashes and restarts", n, Step_HandleRestart(n, down.row, None)) :
                down \in Step_HandleCrash(n, rows[n], [keep |-> keep])} :
         keep \in rows[n].flushed..Len(rows[n].log)}

Ways ==
  UNION {IF Story[at + 1].spent.crashes # spent.crashes THEN CrashWays(n)
         ELSE AskWays(n) \cup PreVoteWays(n) \cup UseWays(n) \cup OwnWays(n) :
         n \in {v \in Voters : Running(rows[v])}}

(* Of several ways the one that says most.                                  *)
Best(ways) ==
  CHOOSE w \in ways : \A v \in ways : Len(w.told.messages) >= Len(v.told.messages)

TellInit ==
  /\ at = 1 /\ told = Told("begins", Nobody, <<>>)
  /\ rows = Story[1].rows /\ network = Story[1].network /\ spent = Story[1].spent
  /\ HistoryInit

TellNext ==
  /\ at < Len(Story)
  /\ LET fitting == {w \in Ways : w.rows = Story[at + 1].rows}
     IN told' = IF fitting = {} THEN Told("?", Nobody, <<>>) ELSE Best(fitting).told
  /\ at' = at + 1
  /\ rows' = Story[at + 1].rows /\ network' = Story[at + 1].network
  /\ spent' = Story[at + 1].spent
  /\ UNCHANGED <<committed, ballots, appended>>

NotOver == at < Len(Story)
=============================================================================
