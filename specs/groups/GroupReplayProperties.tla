----------------------- MODULE GroupReplayProperties ------------------------
(***************************************************************************)
(* What a broker promises of the group's log, as named properties.  Law of  *)
(* this file: no decision of GroupRules is used.                            *)
(***************************************************************************)
EXTENDS GroupReplay

VARIABLE loader   \* the row of a broker with a replica

(* The last entry of a key, or none.                                        *)
LastEntry(kind, n) ==
  LET places == {i \in 1..Len(loader.entries) :
                   loader.entries[i].kind = kind /\ loader.entries[i].member = n}
  IN IF places = {} THEN [exists |-> FALSE]
     ELSE loader.entries[CHOOSE i \in places : \A j \in places : j <= i]

(* Who leads, and has heard of it, has a coordinator; nobody else has one.  *)
Coordinated == loader.events = {} => loader.leads = (loader.state # "Inactive")

(* No load fails.                                                           *)
LoadSucceeds == loader.state # "Failed"

(* A coordinator knows what the log says, whatever was cleaned when.        *)
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
