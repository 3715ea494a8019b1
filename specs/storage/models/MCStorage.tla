----------------------------- MODULE MCStorage ------------------------------
(***************************************************************************)
(* A log of few records on a disk that loses power, with budgets of what    *)
(* may happen.                                                              *)
(***************************************************************************)
EXTENDS StorageProperties, TLC

CONSTANTS MaxRolls, MaxTruncates, MaxStops, MaxCrashes

VARIABLE spent
mcVars == <<vars, spent>>

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

UsedValues == UNION {{l[i].value : i \in 1..Len(l)} : l \in known}
NextValues == {v \in Values : v \notin UsedValues /\ \A w \in Values : w < v => w \in UsedValues}

MCInit == Init /\ spent = [rolls |-> 0, truncates |-> 0, stops |-> 0, crashes |-> 0]

Operates ==
  /\ up /\ todo = <<>>
  /\ \/ /\ \E value \in NextValues : \E epoch \in {e \in Epochs : e >= LatestIn(epochs)} :
             Appends(value, epoch) /\ UNCHANGED loaded
        /\ UNCHANGED spent
     \/ /\ DataOf(disk, Active(disk)) # <<>> /\ Rolls /\ Spend("rolls", MaxRolls)
     \/ /\ EndOf(disk) > recoveryPoint /\ Flushes /\ UNCHANGED spent
     \/ /\ disk.checkpoint # recoveryPoint /\ Checkpoints /\ UNCHANGED spent
     \/ /\ tasks # <<>> /\ RunsTask /\ UNCHANGED spent
     \/ /\ \E offset \in 0..Len(log) - 1 : Truncates(offset)
        /\ Spend("truncates", MaxTruncates)
     \/ /\ Stops /\ Spend("stops", MaxStops)

PowerFails == \E left \in PowerLosses(disk) : Crashes(left) /\ Spend("crashes", MaxCrashes)

(* What was written stays, and no more of it is durable than was.           *)
Killed == Crashes(disk) /\ Spend("crashes", MaxCrashes)

MCNext ==
  \/ Operates
  \/ Runs /\ UNCHANGED spent
  \/ Starts /\ UNCHANGED spent
  \/ PowerFails
  \/ Killed

MCSpec == MCInit /\ [][MCNext]_mcVars

-----------------------------------------------------------------------------
(* Probes: each must be violated (non-vacuity).                             *)

NoLossProbe == Judged => log \in may
NoTornTailProbe == ~\E i \in 1..Len(disk.files) : \E j \in 1..Len(disk.files[i].data) :
                     disk.files[i].data[j] = Bad
NoCleanStartProbe == ~(todo # <<>> /\ todo[1].op = "load")
NoSegmentDroppedProbe == Judged => \A i \in 1..Len(disk.pending) : disk.pending[i].file # NoFile
NoCrashInAStartProbe == [][~(Judged /\ spent'.crashes > spent.crashes)]_mcVars
=============================================================================
