package main

import (
	"fmt"
	"hash/fnv"

	"github.com/anishathalye/porcupine"
)

// A register as porcupine's own tests have it: a compare-and-set that failed found another value;
// of one whose outcome is unknown nothing is known but what it would do.
func stepRegister(state, input, output interface{}) (bool, interface{}) {
	value, asked := state.(string), input.(*call)
	switch asked.F {
	case "read":
		return text(asked.Said) == value, state
	case "write":
		return true, text(asked.A)
	}
	equal := text(asked.A) == value
	if equal && asked.Outcome != "fail" {
		return true, text(asked.B)
	}
	return asked.Outcome == "unknown" || (!equal && asked.Outcome == "fail"), state
}

func stepMap(state, input, output interface{}) (bool, interface{}) {
	value, asked := state.(string), input.(*call)
	switch asked.F {
	case "get":
		return text(asked.Said) == value, state
	case "put":
		return true, text(asked.A)
	}
	return true, value + text(asked.A)
}

// nil is a value of its own in registers, and the empty string in maps: the writer sees to both.
func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

// Parts by key, in a fixed order: the first operation of each decides.
func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	at := map[string]int{}
	var parts [][]porcupine.Operation
	for _, operation := range history {
		key := operation.Input.(*call).Key
		if _, known := at[key]; !known {
			at[key] = len(parts)
			parts = append(parts, nil)
		}
		parts[at[key]] = append(parts[at[key]], operation)
	}
	return parts
}

func operations(calls []call) []porcupine.Operation {
	history := make([]porcupine.Operation, len(calls))
	for i := range calls {
		each := &calls[i]
		history[i] = porcupine.Operation{
			ClientId: each.Client, Input: each, Call: each.Call, Return: each.Return,
		}
	}
	return history
}

type converter func([]call) []porcupine.Operation

func modelNamed(name string) (porcupine.Model, converter, error) {
	steps := map[string]func(state, input, output interface{}) (bool, interface{}){
		"register": stepRegister, "cas-register": stepRegister, "kv": stepMap,
	}
	step, known := steps[name]
	if !known {
		return porcupine.Model{}, nil, fmt.Errorf("no model %q", name)
	}
	model := porcupine.Model{
		Partition: byKey,
		Init:      func() interface{} { return "" },
		Step:      step,
	}
	// As in porcupine's own tests: strings that grow are worth a hash, a register's value is not.
	if name == "kv" {
		model.Hash = func(state interface{}) uint64 {
			sum := fnv.New64a()
			sum.Write([]byte(state.(string)))
			return sum.Sum64()
		}
	}
	return model, operations, nil
}
