// Times Porcupine on histories of partition logs that benchmarks/history_log.py wrote.
//
//	log REPEATS TIMEOUT FILE...
//
// A file holds rows of six 64-bit little-endian integers: client, kind (0 append, 1 read), offset,
// value, call, return. The offset of an append is the acknowledged one, or -1; of a read, where it
// read; its value is -1 if it found nothing. An append of unknown outcome returns after all else.
//
// For each file one JSON object is printed: verdict, and processor nanoseconds of the best repeat,
// which the timeout bounds (Porcupine's own would count what other processes take). Repeats stop
// when they have taken a second. Files are left out after one that was not decided in time, and
// when all so far have taken as long. At the end, the peak of the process' resident memory in KiB
// before the first check and after the last.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"

	"kraftcheck/benchmarks/porcupine/process"
)

const (
	columns = 6
	enough  = time.Second
)

type figures struct {
	Verdict string `json:"verdict"`
	Best    int64  `json:"best"`
}

func read(path string) []row {
	file, err := os.Open(path)
	if err != nil {
		process.Fail(err)
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		process.Fail(err)
	}
	if about.Size()%(8*columns) != 0 {
		process.Fail(fmt.Errorf("%s: not made of rows of %d integers", path, columns))
	}
	rows := make([]row, about.Size()/(8*columns))
	if err := binary.Read(file, binary.LittleEndian, rows); err != nil {
		process.Fail(err)
	}
	return rows
}

func measure(history logHistory, repeats int, timeout time.Duration) figures {
	var found figures
	var total time.Duration
	for ran := 0; ran < repeats && total < enough; ran++ {
		runtime.GC()
		begin := process.CPU()
		stop := history.over.after(timeout)
		holds := porcupine.CheckOperations(history.model, history.operations)
		took := process.CPU() - begin
		stop()
		total += took
		if ran == 0 || took.Nanoseconds() < found.Best {
			found.Best = took.Nanoseconds()
		}
		switch {
		case history.over.yet():
			found.Verdict = "Unknown"
			return found
		case holds:
			found.Verdict = "Ok"
		default:
			found.Verdict = "Illegal"
		}
	}
	return found
}

func main() {
	if len(os.Args) < 4 {
		process.Fail(fmt.Errorf("usage: log REPEATS TIMEOUT FILE..."))
	}
	repeats, err := strconv.Atoi(os.Args[1])
	if err != nil {
		process.Fail(err)
	}
	timeout, err := time.ParseDuration(os.Args[2])
	if err != nil {
		process.Fail(err)
	}
	var histories []logHistory
	for _, path := range os.Args[3:] {
		histories = append(histories, prepared(read(path)))
	}
	runtime.GC()
	before := process.Peak()
	out := json.NewEncoder(os.Stdout)
	var total time.Duration
	for _, history := range histories {
		begin := process.CPU()
		found := measure(history, repeats, timeout)
		if err := out.Encode(found); err != nil {
			process.Fail(err)
		}
		total += process.CPU() - begin
		if found.Verdict == "Unknown" || total > timeout {
			break
		}
	}
	peaks := map[string]int64{"peak_before": before, "peak_after": process.Peak()}
	if err := out.Encode(peaks); err != nil {
		process.Fail(err)
	}
}
