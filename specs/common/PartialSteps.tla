---------------------------- MODULE PartialSteps ----------------------------
(***************************************************************************)
(* Steps of which only a part was logged. A logged row, input or message is *)
(* a record with some of its fields; the others are hidden. The step is     *)
(* allowed iff the spec allows it with some values of the hidden fields. A  *)
(* chain is the steps of one node in order. Hidden fields of its rows are   *)
(* not guessed, because they follow from the steps before.                  *)
(*                                                                          *)
(* A line of a chain is a record of                                         *)
(*   before, after   what was logged of the rows                            *)
(*   inputs          sequence: what the input may have been, each a record  *)
(*                   of action, input (some value in each hidden field) and *)
(*                   open (the names of its hidden fields, in the order in  *)
(*                   which they are filled)                                 *)
(*   sent, ignored   sequences: <<>> if hidden, else with one element; that *)
(*                   of `sent` is a sequence of messages as far as logged   *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

(* Given by a frame such as ChainQuorum, in the cfg.                        *)
CONSTANTS
  OutcomesOf(_, _, _, _),   \* StepOf: the outcomes of an action
  Receives(_, _),           \* MayTake: whether a node with this row receives this input
  Guesses(_, _, _, _, _)    \* Hidden: the values that a hidden field of an input may have

(* Whether a value is what was logged of it.                                *)
Fits(value, logged) ==
  \A field \in DOMAIN logged : field \in DOMAIN value /\ value[field] = logged[field]

FitsMessage(message, logged) == message.type = logged.type /\ Fits(message, logged)

(* Whether these messages are the logged ones, each standing for one.       *)
RECURSIVE FitsAll(_, _)
FitsAll(messages, logged) ==
  IF logged = <<>> THEN messages = {}
  ELSE \E m \in messages :
         FitsMessage(m, Head(logged)) /\ FitsAll(messages \ {m}, Tail(logged))

FitsOutcome(outcome, line) ==
  /\ Fits(outcome.row, line.after)
  /\ \A i \in DOMAIN line.ignored : outcome.ignored = line.ignored[i]
  /\ \A i \in DOMAIN line.sent : FitsAll(outcome.sent, line.sent[i])

(* All inputs that equal `input` except in the open fields.                 *)
RECURSIVE Filled(_, _, _, _, _)
Filled(n, row, input, open, after) ==
  IF open = <<>> THEN {input}
  ELSE UNION {Filled(n, row, [input EXCEPT ![Head(open)] = value], Tail(open), after) :
                value \in Guesses(n, row, input, after, Head(open))}

(* <<input, outcome>> for whatever the spec allows, whether it fits or not. *)
Possible(n, row, line) ==
  UNION {LET choice == line.inputs[i] IN
         UNION {{<<input, outcome>> : outcome \in OutcomesOf(choice.action, n, row, input)} :
                  input \in {filled \in Filled(n, row, choice.input, choice.open, line.after) :
                               Receives(row, filled)}} :
           i \in DOMAIN line.inputs}

(* The rows in which the node may be after this line.                       *)
RowsAfter(n, row, line) ==
  IF ~Fits(row, line.before) THEN {}
  ELSE {found[2].row : found \in {p \in Possible(n, row, line) : FitsOutcome(p[2], line)}}
=============================================================================
