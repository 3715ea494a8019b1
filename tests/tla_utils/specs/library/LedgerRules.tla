---------------------------- MODULE LedgerRules ----------------------------
(* A ledger adds amounts, opens and closes, and guesses.                      *)
EXTENDS Integers, Sequences
CONSTANT MaxGuess

Toggled(open) == ~open
BugToggled(open) == open

Add(row, amount) ==
  IF row.open
  THEN {[after |-> [row EXCEPT !.total = @ + amount,
                               !.log = Append(@, [kind |-> "add", amount |-> amount])],
         sent |-> {[type |-> "Added", total |-> row.total + amount]}]}
  ELSE {}

Toggle(row) == {[after |-> [row EXCEPT !.open = Toggled(@)], sent |-> {}]}

Guess(row) == {[after |-> [row EXCEPT !.guess = g], sent |-> {}] : g \in 0..MaxGuess}
=============================================================================
