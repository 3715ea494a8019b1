----------------------- MODULE GroupReplayProperties ------------------------
(***************************************************************************)
(* Named properties of a broker that loads a group's log. Law of this file: *)
(* no decision of GroupRules is used.                                       *)
(***************************************************************************)
EXTENDS GroupReplay

VARIABLE loader   \* the row of a broker with a replica

(* The last entry of a key, or none.                                        *)
LastEntry(kind, n) ==
  LET places == {i \in 1..Len(loader.entries) :
                   loader.entries[i].kind = kind /\ loader.entries[i].member = n}
  IN IF places = {} THEN [exists |-> FALSE]
     ELSE loader.entries[CHOOSE i \in places : \A j \in places : j <= i]

(* When all elections and resignations are handled, a broker has a          *)
(* coordinator exactly if it leads. Misses: brokers with events that wait.  *)
Coordinated == loader.events = {} => loader.leads = (loader.state # "Inactive")

(* No load fails. Misses: a load that ends in a wrong state (see            *)
(* ReplayEqual).                                                            *)
LoadSucceeds == loader.state # "Failed"

(* An active coordinator has exactly the state that the log implies,        *)
(* whatever was cleaned meanwhile. Misses: coordinators that are still      *)
(* loading, and a wrong log.                                                *)
ReplayEqual ==
  loader.leads /\ loader.events = {} /\ loader.state = "Active" =>
    /\ \A n \in Members :
         LET member == loader.members[n] IN
         /\ member.known = LastEntry("Member", n).exists
         /\ member.known => /\ member.id = LastEntry("Member", n).epoch
                            /\ member.epoch = EpochIn(LastEntry("Current", n))
                            /\ member.assigned = LastEntry("Current", n).assigned
    /\ loader.held = UNION {{[partition |-> p, epoch |-> loader.members[n].epoch] :
                               p \in loader.members[n].assigned} : n \in Members}
=============================================================================
