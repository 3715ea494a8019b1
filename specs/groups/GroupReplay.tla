---------------------------- MODULE GroupReplay -----------------------------
(***************************************************************************)
(* A broker and its replica of the group's partition (G6, G7, G50): it is   *)
(* elected and resigns, and when elected reads the log batch by batch,      *)
(* which may be cleaned meanwhile.  Its row:                                *)
(*                                                                          *)
(*   leads         whether it leads the partition, in leaderEpoch           *)
(*   events        elections and resignations that its coordinator has yet  *)
(*                 to hear of, in any order                                 *)
(*   epoch         of the last event that it heard of                       *)
(*   state         of the coordinator: "Inactive", "Loading", "Active",     *)
(*                 "Failed"                                                 *)
(*   entries       the log                                                  *)
(*   endOffset     where it ends                                            *)
(*   position      what has been read of it: up to here                     *)
(*   members       members[n]: what has been read of member n               *)
(*   held          the partitions that somebody has, with the epoch in      *)
(*                 which he took them                                       *)
(*                                                                          *)
(* An entry has a key: a kind, "Member" or "Current" (assignment), and a    *)
(* member. An entry of something that no longer exists is a tombstone.      *)
(* away: the member has left temporarily and keeps its partitions (G19). A  *)
(* batch has the records of one operation, and an epoch of its own. A       *)
(* member's id is the batch in which it joined or replaced another.         *)
(* Tombstones stay, because no load takes a day (delete.retention.ms).      *)
(***************************************************************************)
EXTENDS GroupRules

NoEntries == [known |-> FALSE, id |-> 0, epoch |-> 0, assigned |-> {}]
InitialLoader ==
  [leads |-> FALSE, leaderEpoch |-> 0, events |-> {}, epoch |-> 0, state |-> "Inactive",
   entries |-> <<>>, endOffset |-> 0, position |-> 0,
   members |-> [n \in Members |-> NoEntries], held |-> {}]

Taking(row) == {[row |-> row, sent |-> {}, ignored |-> ""]}

-----------------------------------------------------------------------------
(* Replay of an entry (G50).                                                *)

HeldEpoch(held, p) ==
  IF \E each \in held : each.partition = p
  THEN (CHOOSE each \in held : each.partition = p).epoch ELSE Unknown

(* Whether a member other than n that has left for a while has a partition. *)
IsHeldAway(members, n, p) ==
  \E k \in Members \ {n} : members[k].epoch = ReleasedEpoch /\ p \in members[k].assigned

(* All but what member n had, and nobody has taken since.                   *)
Without(row, n) ==
  LET had == row.members[n]
  IN {each \in row.held :
        ~(/\ each.partition \in had.assigned
          /\ each.epoch = had.epoch
          /\ LetsGo(had.epoch, IsHeldAway(row.members, n, each.partition)))}

FailedLoad(row) == [row EXCEPT !.state = "Failed"]

WithTombstone(row, entry) ==
  LET member == row.members[entry.member]
      left == IF entry.kind = "Member" THEN NoEntries
              ELSE [member EXCEPT !.epoch = 0, !.assigned = {}]
  IN IF member.known
     THEN [row EXCEPT !.held = Without(row, entry.member), !.members[entry.member] = left]
     ELSE IF IgnoresOrphan THEN row ELSE FailedLoad(row)

(* The epoch of an entry: its batch's, or that of a member that leaves      *)
(* temporarily.                                                             *)
EpochIn(entry) == IF entry.away THEN ReleasedEpoch ELSE entry.epoch

WithAssignment(row, entry) ==
  LET rest == Without(row, entry.member)
      epoch == EpochIn(entry)
      taken == {[partition |-> p, epoch |-> epoch] : p \in entry.assigned}
  IN IF \E p \in entry.assigned : ~MayTake(HeldEpoch(rest, p), epoch) THEN FailedLoad(row)
     ELSE [row EXCEPT
             !.held = {each \in rest : each.partition \notin entry.assigned} \cup taken,
             !.members[entry.member] =
               [@ EXCEPT !.known = TRUE, !.epoch = epoch, !.assigned = entry.assigned]]

RECURSIVE Replayed(_, _)
Replayed(row, batch) ==
  IF batch = <<>> \/ row.state = "Failed" THEN row
  ELSE LET entry == Head(batch) IN
       Replayed(CASE ~entry.exists -> WithTombstone(row, entry)
                  [] entry.kind = "Member" ->
                       [row EXCEPT !.members[entry.member].known = TRUE,
                                   !.members[entry.member].id = entry.epoch]
                  [] OTHER -> WithAssignment(row, entry),
                Tail(batch))

-----------------------------------------------------------------------------
(* The log.                                                                 *)

IsLastOfKey(entries, i) ==
  \A j \in (i + 1)..Len(entries) :
    entries[j].kind # entries[i].kind \/ entries[j].member # entries[i].member

(* The entries of a log that pass, in their order.                          *)
RECURSIVE Kept(_, _)
Kept(entries, places) ==
  IF places = {} THEN <<>>
  ELSE LET i == CHOOSE i \in places : \A j \in places : i <= j
       IN <<entries[i]>> \o Kept(entries, places \ {i})

LastOfKeys(entries) == Kept(entries, {i \in 1..Len(entries) : IsLastOfKey(entries, i)})

(* The first batch that is not read yet.                                    *)
NextBatch(row) ==
  LET unread == {i \in 1..Len(row.entries) : row.entries[i].offset >= row.position}
      first == CHOOSE i \in unread : \A j \in unread : i <= j
  IN Kept(row.entries, {i \in unread : row.entries[i].epoch = row.entries[first].epoch})

(* The state of a member after the whole log is read.                       *)
KnownOf(entries, n) ==
  LET of(kind) == {i \in 1..Len(entries) :
                     entries[i].kind = kind /\ entries[i].member = n /\ IsLastOfKey(entries, i)
                       /\ entries[i].exists}
      current == of("Current")
      last == entries[CHOOSE i \in current : TRUE]
  IN IF of("Member") = {} THEN NoEntries
     ELSE [known |-> TRUE, id |-> entries[CHOOSE i \in of("Member") : TRUE].epoch,
           epoch |-> last.epoch, assigned |-> last.assigned]

NextEpoch(entries) == IF entries = <<>> THEN 1 ELSE entries[Len(entries)].epoch + 1

(* ACTION HandleGroupWrite                                                  *)
(* WHO    the group's leader                                                *)
(* WHAT   It writes, or the broker fetches, a batch: a member joins, takes  *)
(*        or gives up partitions, or is removed.                            *)
Step_HandleGroupWrite(n, row, input) ==
  LET known == KnownOf(row.entries, input.member)
      others == UNION {KnownOf(row.entries, k).assigned : k \in Members \ {input.member}}
      epoch == NextEpoch(row.entries)
      entry(offset, kind, exists) ==
        [offset |-> offset, kind |-> kind, member |-> input.member, exists |-> exists,
         epoch |-> epoch, assigned |-> IF kind = "Current" THEN input.assigned ELSE {},
         away |-> FALSE]
      at == row.endOffset
      batch == IF input.removed THEN <<entry(at, "Current", FALSE), entry(at + 1, "Member", FALSE)>>
               ELSE IF known.known THEN <<entry(at, "Current", TRUE)>>
               ELSE <<entry(at, "Member", TRUE), entry(at + 1, "Current", TRUE)>>
      written == [row EXCEPT !.entries = @ \o batch, !.endOffset = at + Len(batch)]
  IN IF \/ row.leads /\ (row.state # "Active" \/ row.events # {})
        \/ input.assigned \cap others # {}
        \/ input.removed /\ (~known.known \/ input.assigned # {})
        \/ known.known /\ ~input.removed /\ input.assigned = known.assigned
     THEN {}
     ELSE Taking(IF row.leads THEN [Replayed(written, batch) EXCEPT !.position = at + Len(batch)]
                 ELSE written)

(* ACTION HandleReplaceMember                                               *)
(* WHO    the coordinator                                                   *)
(* WHAT   A static member is back with another id, which replaces the first. *)
(*        The operation changes memory directly, and its record is not      *)
(*        replayed (G13, G51).                                              *)
Step_HandleReplaceMember(n, row, input) ==
  LET id == NextEpoch(row.entries)
      entry == [offset |-> row.endOffset, kind |-> "Member", member |-> input.member,
                exists |-> TRUE, epoch |-> id, assigned |-> {}, away |-> FALSE]
      replaced == [row EXCEPT !.members[input.member].id = id]
      memory == IF KeepsChanged THEN replaced ELSE row
  IN IF ~row.leads \/ row.state # "Active" \/ row.events # {} \/ ~row.members[input.member].known
     THEN {}
     ELSE Taking(IF ~RecordsReplacement THEN replaced
                 ELSE [memory EXCEPT !.entries = Append(@, entry), !.endOffset = @ + 1,
                                     !.position = row.endOffset + 1])

(* ACTION HandleRestateMember                                               *)
(* WHO    the group's leader                                                *)
(* WHAT   It writes a member's assignment again, because the member leaves  *)
(*        temporarily or is back (G19).                                     *)
Step_HandleRestateMember(n, row, input) ==
  LET known == KnownOf(row.entries, input.member)
      last == CHOOSE i \in 1..Len(row.entries) :
                /\ row.entries[i].kind = "Current" /\ row.entries[i].member = input.member
                /\ IsLastOfKey(row.entries, i)
      entry == [offset |-> row.endOffset, kind |-> "Current", member |-> input.member,
                exists |-> TRUE, epoch |-> NextEpoch(row.entries), assigned |-> known.assigned,
                away |-> ~row.entries[last].away]
      written == [row EXCEPT !.entries = Append(@, entry), !.endOffset = @ + 1]
  IN IF \/ row.leads /\ (row.state # "Active" \/ row.events # {})
        \/ ~known.known
     THEN {}
     ELSE Taking(IF row.leads
                 THEN [Replayed(written, <<entry>>) EXCEPT !.position = written.endOffset]
                 ELSE written)

(* ACTION HandleCleanGroupLog                                               *)
(* WHO    the log cleaner                                                   *)
(* WHAT   It keeps the last record of each key.                             *)
Step_HandleCleanGroupLog(n, row, input) ==
  LET cleaned == LastOfKeys(row.entries)
  IN IF cleaned = row.entries THEN {} ELSE Taking([row EXCEPT !.entries = cleaned])

-----------------------------------------------------------------------------
(* G6, G7: elections, resignations, loads.                                  *)

(* ACTION HandleChangeGroupLeader                                           *)
(* WHO    the metadata                                                      *)
(* WHAT   The broker becomes the leader of the group's partition, or stops  *)
(*        leading.                                                          *)
Step_HandleChangeGroupLeader(n, row, input) ==
  Taking([row EXCEPT !.leads = ~@, !.leaderEpoch = @ + 1,
                     !.events = @ \cup {[elected |-> ~row.leads, epoch |-> row.leaderEpoch + 1]}])

(* ACTION HandleLeaderEvent                                                 *)
(* WHO    the coordinator                                                   *)
(* WHAT   It handles an election or a resignation, in any order; an older   *)
(*        one is ignored (G6, G7).                                          *)
Step_HandleLeaderEvent(n, row, input) ==
  LET heard == [row EXCEPT !.events = @ \ {input.event}]
      begun == [heard EXCEPT !.epoch = input.event.epoch, !.position = 0,
                             !.members = InitialLoader.members, !.held = {},
                             !.state = IF input.event.elected THEN "Loading" ELSE "Inactive"]
  IN CASE input.event \notin row.events -> {}
       [] IsOutdatedEvent(row, input.event) -> Taking(heard)
       [] OTHER -> Taking(begun)

(* ACTION HandleReadGroupLog                                                *)
(* WHO    the coordinator                                                   *)
(* WHAT   It loads the next batch, and is active at the end of the log (G6). *)
Step_HandleReadGroupLog(n, row, input) ==
  LET batch == NextBatch(row)
      read == [row EXCEPT !.position = batch[Len(batch)].offset + 1]
  IN CASE row.state # "Loading" -> {}
       [] IsLoaded(row.position, row.endOffset) ->
            Taking([row EXCEPT !.state = "Active"])
       [] OTHER -> Taking(Replayed(read, batch))

Inputs_GroupWrite(n, row) ==
  {[type |-> "GroupWrite", member |-> k, assigned |-> a, removed |-> r] :
     k \in Members, a \in SUBSET Partitions, r \in BOOLEAN}
Inputs_ReplaceMember(n, row) == {[type |-> "ReplaceMember", member |-> k] : k \in Members}
Inputs_RestateMember(n, row) == {[type |-> "RestateMember", member |-> k] : k \in Members}
Inputs_LeaderEvent(n, row) == {[type |-> "LeaderEvent", event |-> e] : e \in row.events}
=============================================================================
