---------------------------- MODULE MCGroupReplay ----------------------------
(***************************************************************************)
(* A broker with a replica of the group's partition, within bounds.         *)
(***************************************************************************)
EXTENDS GroupReplayProperties, TLC

CONSTANTS
  MaxWrites,      \* batches
  MaxCleanings,   \* of the log
  MaxEpochs       \* of the partition's leaders

VARIABLE spent

mcVars == <<loader, spent>>

Symmetry == Permutations(Members) \cup Permutations(Partitions)

MCInit ==
  /\ loader = InitialLoader
  /\ spent = [writes |-> 0, cleanings |-> 0]

Taken(outcomes) == \E o \in outcomes : loader' = o.row
Free(Action) == Action /\ UNCHANGED spent
Paid(what, most, Action) ==
  spent[what] < most /\ Action /\ spent' = [spent EXCEPT ![what] = @ + 1]

MCNext ==
  \/ \E input \in Inputs_GroupWrite(0, loader) :
       Paid("writes", MaxWrites, Taken(Step_HandleGroupWrite(0, loader, input)))
  \/ \E input \in Inputs_ReplaceMember(0, loader) :
       Paid("writes", MaxWrites, Taken(Step_HandleReplaceMember(0, loader, input)))
  \/ Paid("cleanings", MaxCleanings, Taken(Step_HandleCleanGroupLog(0, loader, 0)))
  \/ /\ loader.leaderEpoch < MaxEpochs
     /\ Free(Taken(Step_HandleChangeGroupLeader(0, loader, 0)))
  \/ \E input \in Inputs_LeaderEvent(0, loader) :
       Free(Taken(Step_HandleLeaderEvent(0, loader, input)))
  \/ Free(Taken(Step_HandleReadGroupLog(0, loader, 0)))

MCSpec == MCInit /\ [][MCNext]_mcVars

(* Situations that must be reached: a log is cleaned while it is loaded; an *)
(* older event arrives after a newer one.                                   *)
NoCleanedLoadProbe ==
  [][loader.state = "Loading" /\ loader.position > 0 => loader'.entries = loader.entries]_mcVars
NoLateEventProbe == \A event \in loader.events : event.epoch > loader.epoch
=============================================================================
