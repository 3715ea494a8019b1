--------------------------- MODULE MCVotersOptions ---------------------------
(***************************************************************************)
(* As MCVoters, with what controllers ask their leader for by themselves,   *)
(* the upgrade of kraft.version, and controllers that come back with other  *)
(* listeners.  A request that is made rests at its node until it is         *)
(* answered, is lost with or before its answer, or its role ends.           *)
(***************************************************************************)
EXTENDS MCVoters

CONSTANTS MaxAsks, MaxMoved

OptionsInit ==
  /\ Begins
  /\ spent = [records |-> IF Seeded THEN MaxRecords ELSE 0,
              changes |-> 0, expiries |-> 0, crashes |-> 0, asks |-> 0, moved |-> 0]

AfterAsking(n) ==
  LET row == rows[n]
      p == row.leader
      m == LeaderRequest(n, row)
      awaiting == [row EXCEPT !.connections[p] = "Awaiting"]
      joins == row.asks = "AddVoter"
      served == IF joins THEN Step_HandleAddVoterRequest(p, rows[p], m)
                         ELSE Step_HandleUpdateVoterRequest(p, rows[p], m)
      use(r) == IF joins THEN Step_HandleAddVoterResponse(n, awaiting, r)
                         ELSE Step_HandleUpdateVoterResponse(n, awaiting, r)
      replies(o) == {r \in o.sent : r.type \in {"AddVoterResponse", "UpdateVoterResponse"}}
  IN Becomes(p, served)
     \cup Becomes(n, Step_HandleRequestTimeout(n, awaiting, [peer |-> p]))
     \cup UNION {UNION {{[rows EXCEPT ![p] = Normal(s.row), ![n] = Normal(used.row)] :
                          used \in use(r)} : r \in replies(s)} : s \in served}

Asking(n) ==
  \/ /\ rows[n].asks = "" /\ Spend("asks", MaxAsks)
     /\ rows' \in Becomes(n, Step_HandleUpdateVoterTimeout(n, rows[n], None)
                            \cup Step_HandleAutoJoinTimeout(n, rows[n], None))
  \/ rows[n].asks # "" /\ UNCHANGED spent /\ rows' \in AfterAsking(n)

(* Stopped cleanly, and back with other listeners.                          *)
Moved(n) ==
  UNION {UNION {Step_HandleRestart(n, moved.row, None) :
                  moved \in Step_HandleChangeListeners(n, down.row, None)} :
         down \in Step_HandleCrash(n, rows[n], [keep |-> Len(LogOf(n))])}

OptionsNext ==
  /\ \E n \in Nodes :
       /\ Running(rows[n])
       /\ \/ Free(n) /\ UNCHANGED spent
          \/ Budgeted(n)
          \/ Asking(n)
          \/ Leads(n) /\ UNCHANGED spent
             /\ rows' \in Becomes(n, Step_HandleUpgradeKraftVersion(n, rows[n], None))
          \/ Spend("moved", MaxMoved) /\ rows' \in Becomes(n, Moved(n))
  /\ rows' # rows
  /\ committed' = CommittedAfter(committed, rows')

(* A request may be served again and again, each time with a set more.      *)
WithinLogs == \A n \in Nodes : Len(LogOf(n)) <= 4

OptionsSpec == OptionsInit /\ [][OptionsNext]_mcVars

-----------------------------------------------------------------------------
(* Probes: each must be violated (non-vacuity).                             *)

NoJoinByItselfProbe ==
  \A i \in 2..Len(SetsOf(committed)) :
    SetsOf(committed)[i].voters \subseteq SetsOf(committed)[i - 1].voters
NoUpgradeCommittedProbe == KraftVersion = 1 \/ CommittedSets = 0
NoUpdateCommittedProbe ==
  \A i \in 1..Len(committed) : committed[i].moved = {}
NoUnformattedVotesProbe == LastVoters(committed) \cap Unformatted = {}
=============================================================================
