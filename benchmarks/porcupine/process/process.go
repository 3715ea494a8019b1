// Package process tells what the process that measures has used, and how it ends on bad input.
package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Fail ends the process with one line and the exit code of bad input.
func Fail(err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
	os.Exit(3)
}

// Peak is the most resident memory so far, in KiB; 0 where there is no /proc. It is of this process
// alone: what getrusage says begins with the peak of whoever started the process.
func Peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, "VmHWM:") {
			kilobytes, _ := strconv.ParseInt(strings.Fields(line)[1], 10, 64)
			return kilobytes
		}
	}
	return 0
}

// CPU is the processor time that all threads have used so far, those that collect garbage included.
func CPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		Fail(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
