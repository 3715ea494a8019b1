------------------------ MODULE Z44HighWatermarkFirst ------------------------
(* Z44 (KAFKA-14704): a follower that is told to truncate takes the high    *)
(* watermark first, and shows records that it is about to cut.              *)
EXTENDS HighWatermark

Z44_Step_HandleReplicaFetchResponse(n, row, m) ==
  LET answered == [row EXCEPT !.fetching = @ \ {m.request}]
      told == [row EXCEPT !.highWatermark = FollowerHighWatermark(row, m.highWatermark)]
  IN CASE m.request \notin row.fetching -> Ignore(row, "NotAwaited")
       [] ~ResponseMatches(row, m) -> Outcome(answered, {})
       [] m.error = "OFFSET_OUT_OF_RANGE" -> Outcome(OutOfRange(answered, m), {})
       [] m.error # "NONE" -> Outcome(answered, {})
       [] m.diverging # NoDivergence /\ told # row -> Outcome(told, {})
       [] m.diverging # NoDivergence ->
            Outcome(TruncateTo(answered, TruncationPoint(row, m.diverging)), {})
       [] OTHER -> Outcome(AppendFetched(answered, m), {})
==============================================================================
