package main

import (
	"sync/atomic"
	"time"

	"kraftcheck/benchmarks/porcupine/process"
)

const glance = 20 * time.Millisecond

// A limit of processor time. A model that finds no step possible once it is over ends the search
// within moments; what the search then says is nobody's verdict.
type deadline struct {
	passed int32
}

func (d *deadline) yet() bool {
	return atomic.LoadInt32(&d.passed) != 0
}

// after lets the limit begin; what it returns lets it end.
func (d *deadline) after(limit time.Duration) func() {
	until, ended := process.CPU()+limit, make(chan struct{})
	go func() {
		ticks := time.NewTicker(glance)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticks.C:
				if process.CPU() > until {
					atomic.StoreInt32(&d.passed, 1)
					return
				}
			}
		}
	}()
	return func() { close(ended) }
}
