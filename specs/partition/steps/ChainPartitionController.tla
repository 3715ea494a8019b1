---------------------- MODULE ChainPartitionController ----------------------
(***************************************************************************)
(* The frame in which partly logged steps of the partition's controller are *)
(* judged, as ChainPartition is for brokers.  Epochs and incarnations are   *)
(* compared with what is registered, so one that is equal and one on each   *)
(* side are enough where they are not kept.                                 *)
(***************************************************************************)
EXTENDS PartitionController

CONSTANT Logged     \* field -> the values that the trace has under this name

Known(field) == IF field \in DOMAIN Logged THEN Logged[field] ELSE {}
Around(number) == {number - 1, number, number + 1}

Incarnations(row, input, after) ==
  LET b == input.source
  IN Around(row.registrations[b].incarnation) \cup Known("incarnation")
     \cup (IF "registrations" \in DOMAIN after THEN {after.registrations[b].incarnation} ELSE {})

(* A member is as it is registered, or of another epoch.                    *)
MembersOf(row, b) ==
  {[broker |-> b, epoch |-> row.registrations[b].epoch],
   [broker |-> b, epoch |-> row.registrations[b].epoch - 1]}

Hidden(n, row, input, after, field) ==
  CASE field \in {"source", "broker"} -> Brokers
    [] field \in {"wantFence", "wantShutDown", "recovering"} -> BOOLEAN
    [] field = "election" -> {"ONLINE", "PREFERRED", "UNCLEAN"}
    [] field = "incarnation" -> Incarnations(row, input, after)
    [] field \in {"previousEpoch", "brokerEpoch"} ->
         Around(row.registrations[input.source].epoch) \cup Known("epoch")
    [] field = "metadataOffset" -> (-1)..row.offset \cup Known("metadataOffset")
    [] field = "leaderEpoch" -> Around(row.partition.leaderEpoch) \cup Known("epoch")
    [] field = "partitionEpoch" ->
         Around(row.partition.partitionEpoch) \cup Known("partitionEpoch")
    [] field = "isr" -> SUBSET UNION {MembersOf(row, b) : b \in Brokers}

(* The controller of the spec is always there.                              *)
MayTake(row, input) == TRUE
=============================================================================
