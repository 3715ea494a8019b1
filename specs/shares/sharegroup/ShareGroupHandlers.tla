-------------------------- MODULE ShareGroupHandlers --------------------------
(***************************************************************************)
(* A share group's state: it is initialized, altered and deleted while the  *)
(* partition's leader writes it (KIP-932; docs/reference/shares.md).        *)
(*                                                                          *)
(* The group coordinator's row:                                             *)
(*   epoch       of the group, which is the state epoch of what it          *)
(*               requests                                                   *)
(*   state       "None", "Initializing", "Initialized", "Deleting"          *)
(*   requested   the start offset to initialize with                        *)
(*   intent      the number of initializations that were begun              *)
(*   altered     whether offsets were ever altered                          *)
(*                                                                          *)
(* The share coordinator's row: known, whether the key is; start;           *)
(* stateEpoch; leaderEpoch; intent, that of the state; written, that of the *)
(* last accepted write (0: none).                                           *)
(*                                                                          *)
(* The leader's row:                                                        *)
(*   leaderEpoch    of the partition                                        *)
(*   phase          "Empty", "Initializing" (a read is under way), "Active" *)
(*   stateEpoch, intent, start   as they were read; acknowledgements move   *)
(*                  the start                                               *)
(*   highWatermark  the last offset that may be read                        *)
(*   pending        a write without an answer                               *)
(*   told           the start that the last answered acknowledgement left,  *)
(*   toldIntent     in the state of this intent                             *)
(*   reached        the largest start that an acknowledgement has requested *)
(*                                                                          *)
(* Intents are no part of Kafka's records and requests; properties need     *)
(* them.  Records of both coordinators are committed at once: specs/shares  *)
(* has the log.                                                             *)
(***************************************************************************)
EXTENDS ShareGroupRules, TLC

Store == 0
Leader == -2
Group == -3

InitialShareGroup ==
  [epoch |-> 0, state |-> "None", requested |-> 0, intent |-> 0, altered |-> FALSE]
InitialShareStore ==
  [known |-> FALSE, start |-> 0, stateEpoch |-> 0, leaderEpoch |-> 0, intent |-> 0,
   written |-> 0]
InitialStateLeader ==
  [leaderEpoch |-> 1, phase |-> "Empty", stateEpoch |-> 0, intent |-> 0, start |-> 0,
   highWatermark |-> IF Added THEN 0 ELSE 1, pending |-> {}, told |-> 1, toldIntent |-> 0,
   reached |-> 1]

Outcome(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Ignored(row, why) == {[row |-> row, sent |-> {}, ignored |-> why]}
Disabled == {}

LargestOf(a, b) == IF a >= b THEN a ELSE b

-----------------------------------------------------------------------------
(* The group coordinator.                                                   *)

InitializeRequest(row) ==
  [type |-> "InitializeState", source |-> Group, destination |-> Store, epoch |-> row.epoch,
   start |-> row.requested, intent |-> row.intent]
DeleteRequest(row) ==
  [type |-> "DeleteState", source |-> Group, destination |-> Store, epoch |-> row.epoch]
Initializing(row, epoch, start, altered) ==
  LET after == [epoch |-> epoch, state |-> "Initializing", requested |-> start,
                intent |-> row.intent + 1, altered |-> altered]
  IN Outcome(after, {InitializeRequest(after)})

(* ACTION HandleSubscribeTopic                                              *)
(* WHO    the group coordinator                                             *)
(* WHAT   A heartbeat finds the partition neither initialized nor           *)
(*        initializing (SH46).                                              *)
Step_HandleSubscribeTopic(n, row, input) ==
  IF row.state # "None" \/ row.intent >= MaxIntents THEN Disabled
  ELSE Initializing(row, FirstEpoch(row), FirstStart(row), row.altered)

(* ACTION HandleAlterOffsets                                                *)
(* WHO    the group coordinator                                             *)
(* WHAT   An administrator sets the start offset (SH48).                    *)
Step_HandleAlterOffsets(n, row, input) ==
  IF row.state # "Initialized" \/ row.intent >= MaxIntents THEN Disabled
  ELSE Initializing(row, AlteredEpoch(row), input.start, TRUE)

(* ACTION HandleDeleteOffsets                                               *)
(* WHO    the group coordinator                                             *)
(* WHAT   An administrator deletes the group, or its offsets (SH49).        *)
Step_HandleDeleteOffsets(n, row, input) ==
  CASE row.state # "Initialized" -> Disabled
    [] ~DeletesState(row) -> Outcome([row EXCEPT !.state = "None"], {})
    [] OTHER -> Outcome([row EXCEPT !.state = "Deleting"], {DeleteRequest(row)})

(* ACTION HandleRetryGroup                                                  *)
(* WHO    the group coordinator                                             *)
(* WHAT   The retry interval is over without an answer (SH32, SH46).        *)
Step_HandleRetryGroup(n, row, input) ==
  CASE row.state = "Initializing" /\ RetriesInitialize(row) ->
         Outcome(row, {InitializeRequest(row)})
    [] row.state = "Deleting" -> Outcome(row, {DeleteRequest(row)})
    [] OTHER -> Disabled

(* ACTION HandleInitializeStateResponse                                     *)
(* WHO    the group coordinator                                             *)
(* WHAT   The partition is initialized; an error is reported, and the next  *)
(*        heartbeat begins again (SH46).                                    *)
Step_HandleInitializeStateResponse(n, row, m) ==
  IF row.state # "Initializing" \/ m.epoch # row.epoch THEN Ignored(row, "Late")
  ELSE Outcome([row EXCEPT !.state = IF m.error = "NONE" THEN "Initialized" ELSE "None"], {})

(* ACTION HandleDeleteStateResponse                                         *)
(* WHO    the group coordinator                                             *)
(* WHAT   The state is deleted (SH49).                                      *)
Step_HandleDeleteStateResponse(n, row, m) ==
  IF row.state # "Deleting" \/ m.epoch # row.epoch THEN Ignored(row, "Late")
  ELSE Outcome([row EXCEPT !.state = "None"], {})

-----------------------------------------------------------------------------
(* The share coordinator.                                                   *)

(* ACTION HandleInitializeState                                             *)
(* WHO    the share coordinator                                             *)
(* WHAT   It replaces the state; a request that comes again changes         *)
(*        nothing, and an older one is fenced (SH35).                       *)
Step_HandleInitializeState(n, row, m) ==
  LET answer(error) ==
        [type |-> "InitializeStateResponse", source |-> Store, destination |-> Group,
         error |-> error, epoch |-> m.epoch]
  IN CASE Initializes(row, m.epoch) ->
            Outcome([row EXCEPT !.known = TRUE, !.start = m.start, !.stateEpoch = m.epoch,
                                !.intent = m.intent, !.written = 0], {answer("NONE")})
       [] m.epoch < row.stateEpoch \/ ~row.known -> Outcome(row, {answer("FENCED_STATE_EPOCH")})
       [] OTHER -> Outcome(row, {answer("NONE")})

(* ACTION HandleDeleteState                                                 *)
(* WHO    the share coordinator                                             *)
(* WHAT   It forgets the state; a late request deletes nothing.  Kafka's    *)
(*        has no epoch, and does (SH41).                                    *)
Step_HandleDeleteState(n, row, m) ==
  LET answer == [type |-> "DeleteStateResponse", source |-> Store, destination |-> Group,
                 epoch |-> m.epoch]
  IN Outcome(IF m.epoch < row.stateEpoch THEN row
             ELSE [row EXCEPT !.known = FALSE, !.start = 0,
                              !.stateEpoch = EpochAfterDelete(row)], {answer})

(* ACTION HandleReadState                                                   *)
(* WHO    the share coordinator                                             *)
(* WHAT   It returns the state, and remembers the reader's epoch (SH40).    *)
Step_HandleReadState(n, row, m) ==
  LET error == CASE ~row.known -> "INVALID_REQUEST"
                 [] m.leaderEpoch < row.leaderEpoch -> "FENCED_LEADER_EPOCH"
                 [] OTHER -> "NONE"
      answer == [type |-> "ReadStateResponse", source |-> Store, destination |-> Leader,
                 error |-> error, leaderEpoch |-> m.leaderEpoch,
                 stateEpoch |-> row.stateEpoch, start |-> row.start, intent |-> row.intent]
  IN Outcome(IF error = "NONE" THEN [row EXCEPT !.leaderEpoch = m.leaderEpoch] ELSE row,
             {answer})

(* ACTION HandleWriteState                                                  *)
(* WHO    the share coordinator                                             *)
(* WHAT   It stores the start offset of a current leader and state epoch    *)
(*        (SH36, SH38).                                                     *)
Step_HandleWriteState(n, row, m) ==
  LET error == CASE ~row.known -> "INVALID_REQUEST"
                 [] m.leaderEpoch < row.leaderEpoch -> "FENCED_LEADER_EPOCH"
                 [] ~WriteAccepted(row, m) -> "FENCED_STATE_EPOCH"
                 [] OTHER -> "NONE"
      answer == [type |-> "WriteStateResponse", source |-> Store, destination |-> Leader,
                 error |-> error, write |-> m]
  IN Outcome(IF error = "NONE"
             THEN [row EXCEPT !.start = LargestOf(@, m.start), !.written = m.intent]
             ELSE row, {answer})

-----------------------------------------------------------------------------
(* The leader.                                                              *)

Fresh(row) ==
  [row EXCEPT !.phase = "Empty", !.stateEpoch = 0, !.intent = 0, !.start = 0, !.pending = {}]
ReadRequest(row) ==
  [type |-> "ReadState", source |-> Leader, destination |-> Store,
   leaderEpoch |-> row.leaderEpoch]

(* ACTION HandleLoadState                                                   *)
(* WHO    the leader                                                        *)
(* WHAT   The first fetch of a member loads the state (SH2).                *)
Step_HandleLoadState(n, row, input) ==
  IF row.phase # "Empty" THEN Disabled
  ELSE Outcome([row EXCEPT !.phase = "Initializing"], {ReadRequest(row)})

(* ACTION HandleReadStateResponse                                           *)
(* WHO    the leader                                                        *)
(* WHAT   It adopts the state; without a stored start offset it begins      *)
(*        after the high watermark (SH2, SH4).                              *)
Step_HandleReadStateResponse(n, row, m) ==
  CASE row.phase # "Initializing" \/ m.leaderEpoch # row.leaderEpoch -> Ignored(row, "Late")
    [] m.error # "NONE" -> Outcome(Fresh(row), {})
    [] OTHER ->
         Outcome([row EXCEPT !.phase = "Active", !.stateEpoch = m.stateEpoch,
                             !.intent = m.intent,
                             !.start = IF m.start = 0 THEN row.highWatermark + 1 ELSE m.start],
                 {})

(* ACTION HandleAcknowledgeNext                                             *)
(* WHO    the leader                                                        *)
(* WHAT   A member acknowledges the record at the start offset (SH26).      *)
Step_HandleAcknowledgeNext(n, row, input) ==
  LET write == [type |-> "WriteState", source |-> Leader, destination |-> Store,
                leaderEpoch |-> row.leaderEpoch, stateEpoch |-> row.stateEpoch,
                start |-> row.start + 1, intent |-> row.intent]
  IN IF row.phase # "Active" \/ row.pending # {} \/ row.start > row.highWatermark THEN Disabled
     ELSE Outcome([row EXCEPT !.pending = {write}, !.reached = LargestOf(@, write.start)],
                  {write})

(* ACTION HandleWriteStateResponse                                          *)
(* WHO    the leader                                                        *)
(* WHAT   The acknowledgement is answered; an error removes the share       *)
(*        partition (SH20, SH34).                                           *)
Step_HandleWriteStateResponse(n, row, m) ==
  CASE m.write \notin row.pending -> Ignored(row, "Late")
    [] m.error # "NONE" -> Outcome(Fresh(row), {})
    [] OTHER -> Outcome([row EXCEPT !.pending = {}, !.start = m.write.start,
                                    !.told = m.write.start, !.toldIntent = m.write.intent], {})

(* ACTION HandleRetryState                                                  *)
(* WHO    the leader                                                        *)
(* WHAT   What has no answer is sent again (SH32).                          *)
Step_HandleRetryState(n, row, input) ==
  CASE row.phase = "Initializing" -> Outcome(row, {ReadRequest(row)})
    [] row.pending # {} -> Outcome(row, row.pending)
    [] OTHER -> Disabled

(* ACTION HandleMoveStateLeader                                             *)
(* WHO    the next leader                                                   *)
(* WHAT   Another broker leads, without state.                              *)
Step_HandleMoveStateLeader(n, row, input) ==
  IF row.leaderEpoch = MaxLeaders THEN Disabled
  ELSE Outcome([Fresh(row) EXCEPT !.leaderEpoch = @ + 1], {})

(* ACTION HandleProduceRecord                                               *)
(* WHO    a producer                                                        *)
(* WHAT   A record is appended and committed.                               *)
Step_HandleProduceRecord(n, row, input) ==
  IF row.highWatermark = Records THEN Disabled
  ELSE Outcome([row EXCEPT !.highWatermark = @ + 1], {})
=============================================================================
