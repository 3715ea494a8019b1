// Writes step traces for `kraftcheck conform` (docs/foreign-traces.md). Copy it; it needs nothing.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"sync"
)

// Fields are a row, a message or a step: what is left out is hidden, not unchanged.
type Fields = map[string]any

// Emitter may be used by several goroutines: lines are whole, and in the order of the calls.
type Emitter struct {
	mu  sync.Mutex
	out *bufio.Writer
}

// New writes the header. rows: "full" if every field will be there, else "partial".
func New(out io.Writer, producer, rows string, constants Fields) (*Emitter, error) {
	e := &Emitter{out: bufio.NewWriter(out)}
	return e, e.line(Fields{"format": "kraftcheck steps 1", "producer": producer, "rows": rows,
		"constants": constants})
}

// Step writes one handler call of a node. Call it under the lock that guards the node's state.
func (e *Emitter) Step(node int, step Fields) error {
	step["node"] = node
	return e.line(step)
}

func (e *Emitter) line(fields Fields) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out.Write(append(text, '\n'))
	return e.out.Flush() // what was told survives a crash
}

func main() {
	voters := Fields{"protocol": "quorum", "voters": []int{1, 2, 3}, "fetchMaxRecords": 2}
	e, err := New(os.Stdout, "emitter", "partial", voters)
	if err == nil {
		err = e.Step(1, Fields{"input": Fields{"type": "ElectionTimeout"},
			"after": Fields{"role": "Prospective", "epoch": 0}})
	}
	if err != nil {
		panic(err)
	}
}
