package main

import "github.com/anishathalye/porcupine"

const (
	kindAppend = 0
	unknown    = -1
	nothing    = -1
)

type row struct {
	Client, Kind, Offset, Value, Call, Return int64
}

type logHistory struct {
	model      porcupine.Model
	operations []porcupine.Operation
	over       *deadline
}

// The smallest state that a log can have: its length. Which value stands at which offset is told by
// the history as a whole, so that it is looked up in a table made beforehand instead of carried in
// the state (a list of values that is copied by every append costs several times more). Offsets
// with two values are no matter of order and have to be looked for elsewhere.
//
// An append whose outcome is unknown and whose value somebody read takes its place there. One that
// nobody read takes any place that nobody else is known to hold; that it never took effect is the
// same as that it did so after everything else.
func prepared(rows []row) logHistory {
	var held []bool
	places := map[int64]int64{}
	for _, each := range rows {
		if each.Offset == unknown || each.Value == nothing {
			continue
		}
		for int64(len(held)) <= each.Offset {
			held = append(held, false)
		}
		held[each.Offset] = true
		places[each.Value] = each.Offset
	}
	over := &deadline{}
	step := func(state, input, output interface{}) (bool, interface{}) {
		if over.yet() {
			return false, state
		}
		length, asked := state.(int64), input.(*row)
		if asked.Kind != kindAppend {
			there := asked.Value != nothing
			return there == (asked.Offset < length), state
		}
		if asked.Offset != unknown {
			return asked.Offset == length, length + 1
		}
		if place, known := places[asked.Value]; known {
			return place == length, length + 1
		}
		return length >= int64(len(held)) || !held[length], length + 1
	}
	operations := make([]porcupine.Operation, len(rows))
	for i := range rows {
		each := &rows[i]
		operations[i] = porcupine.Operation{
			ClientId: int(each.Client), Input: each, Call: each.Call, Return: each.Return,
		}
	}
	model := porcupine.Model{
		Init: func() interface{} { return int64(0) },
		Step: step,
	}
	return logHistory{model, operations, over}
}
