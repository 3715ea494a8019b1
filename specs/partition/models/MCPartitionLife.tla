-------------------------- MODULE MCPartitionLife --------------------------
(***************************************************************************)
(* MCPartition, whose brokers may be stopped, whose controller may be       *)
(* replaced, and whose producer may be idempotent and send again.  So what  *)
(* a controller knows about contacts is part of a state here.  To have      *)
(* fewer states, brokers other than `Beating` send heartbeats only while    *)
(* they are fenced, and are not stopped.                                    *)
(***************************************************************************)
EXTENDS MCPartition

CONSTANTS Beating, MaxStops, MaxFailovers, MaxSends, MaxRetries

VARIABLE spentOnLife

lifeVars == <<mcVars, spentOnLife>>

LifeInit ==
  /\ MCInit
  /\ spentOnLife = [stops |-> 0, failovers |-> 0, sends |-> 0, retries |-> 0]

SpendOnLife(budget, limit) ==
  /\ spentOnLife[budget] < limit
  /\ spentOnLife' = [spentOnLife EXCEPT ![budget] = @ + 1]

(* Of the one producer; a value is its sequence.                            *)
Sent(n, value) ==
  [Produce(n, value) EXCEPT !.producer = 1, !.producerEpoch = 0, !.sequence = value - 1]

OfLife ==
  \/ \E n \in Brokers :
       \/ n \in Beating /\ SpendOnLife("stops", MaxStops) /\ HandleControlledShutdown(n)
       \/ /\ IsLeader(rows[n]) /\ SpendOnLife("sends", MaxSends)
          /\ HandleProduceRequest(n, Sent(n, spentOnLife.sends + 1))
       \/ /\ IsLeader(rows[n]) /\ SpendOnLife("retries", MaxRetries)
          /\ \E value \in 1..spentOnLife.sends : HandleProduceRequest(n, Sent(n, value))
  \/ SpendOnLife("failovers", MaxFailovers) /\ HandleControllerFailover

Beats == \E n \in Beating : HandleSendHeartbeat(n)

LifeNext ==
  \/ MCNext /\ UNCHANGED spentOnLife
  \/ OfLife /\ UNCHANGED spent /\ HistoryNext
  \/ Beats /\ UNCHANGED <<spent, spentOnLife>> /\ HistoryNext

LifeSpec == LifeInit /\ [][LifeNext]_lifeVars

LifeView ==
  <<rows, controller, metadata, {m \in network : Alive(m)}, committed, acked, spent, spentOnLife>>

(* No broker lags by more than two records of metadata.                     *)
ReadsSoon ==
  /\ WithinBounds
  /\ \A n \in Brokers : IsUp(rows[n]) => InitialOffset + Len(metadata) - rows[n].image.offset <= 2
=============================================================================
