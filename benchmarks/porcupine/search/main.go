// Times Porcupine on histories that benchmarks/history_search.py wrote.
//
//	search MODEL REPEATS TIMEOUT FILE...
//
// A file holds one JSON object a line: {"client", "key", "f", "a", "b", "said", "outcome", "call",
// "return"}; values are strings, a missing one is null. An operation of unknown outcome returns
// after all others. For each file one JSON object is printed: verdict, best and mean nanoseconds of
// processor time of all repeats (stopped when they have taken the timeout), and bytes allocated by
// one of them; at the end, the peak of the process' resident memory before the first check and
// after the last.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"

	"kraftcheck/benchmarks/porcupine/process"
)

type call struct {
	Client  int     `json:"client"`
	Key     string  `json:"key"`
	F       string  `json:"f"`
	A       *string `json:"a"`
	B       *string `json:"b"`
	Said    *string `json:"said"`
	Outcome string  `json:"outcome"`
	Call    int64   `json:"call"`
	Return  int64   `json:"return"`
}

type figures struct {
	File      string `json:"file"`
	Verdict   string `json:"verdict"`
	Best      int64  `json:"best"`
	Mean      int64  `json:"mean"`
	Allocated uint64 `json:"allocated"`
}

func read(path string) []call {
	file, err := os.Open(path)
	if err != nil {
		process.Fail(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 1<<20), 1<<26)
	var calls []call
	for scanner.Scan() {
		var one call
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			process.Fail(err)
		}
		calls = append(calls, one)
	}
	if err := scanner.Err(); err != nil {
		process.Fail(err)
	}
	return calls
}

func measure(path string, model porcupine.Model, history []porcupine.Operation,
	repeats int, timeout time.Duration) figures {
	var best, total time.Duration
	var before, after runtime.MemStats
	found := figures{File: path}
	ran := 0
	for ran < repeats && total < timeout {
		runtime.GC()
		runtime.ReadMemStats(&before)
		begin := process.CPU()
		verdict := porcupine.CheckOperationsTimeout(model, history, timeout)
		took := process.CPU() - begin
		runtime.ReadMemStats(&after)
		found.Verdict = string(verdict)
		found.Allocated = after.TotalAlloc - before.TotalAlloc
		if ran == 0 || took < best {
			best = took
		}
		total += took
		ran++
	}
	found.Best, found.Mean = best.Nanoseconds(), total.Nanoseconds()/int64(ran)
	return found
}

func main() {
	if len(os.Args) < 5 {
		process.Fail(fmt.Errorf("usage: search MODEL REPEATS TIMEOUT FILE..."))
	}
	model, history, err := modelNamed(os.Args[1])
	if err != nil {
		process.Fail(err)
	}
	repeats, err := strconv.Atoi(os.Args[2])
	if err != nil {
		process.Fail(err)
	}
	timeout, err := time.ParseDuration(os.Args[3])
	if err != nil {
		process.Fail(err)
	}
	out := json.NewEncoder(os.Stdout)
	histories := make([][]porcupine.Operation, 0)
	for _, path := range os.Args[4:] {
		histories = append(histories, history(read(path)))
	}
	runtime.GC()
	start := process.Peak()
	for i, path := range os.Args[4:] {
		if err := out.Encode(measure(path, model, histories[i], repeats, timeout)); err != nil {
			process.Fail(err)
		}
	}
	if err := out.Encode(map[string]int64{"peak_before": start, "peak_after": process.Peak()}); err != nil {
		process.Fail(err)
	}
}
