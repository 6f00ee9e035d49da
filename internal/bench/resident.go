package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// resident is the memory of a process as the system sees it, in bytes.
type resident struct {
	now  int64
	peak int64 // since [process.forgetPeak]
}

// resident reads /proc, which only Linux has.
func (p *process) resident() (r resident, err error) {
	text, err := os.ReadFile(p.proc("status"))
	if err != nil {
		return r, err
	}
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		var to *int64
		switch string(name) {
		case "VmRSS":
			to = &r.now
		case "VmHWM":
			to = &r.peak
		default:
			continue
		}
		kilobytes, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))), 10, 64)
		if err != nil {
			return r, fmt.Errorf("memory of the process: %w", err)
		}
		*to = kilobytes * kilobyte
	}
	return r, nil
}

// forgetPeak makes the system measure the peak from now on.
func (p *process) forgetPeak() error {
	const peak = "5" // see proc(5), /proc/pid/clear_refs
	return os.WriteFile(p.proc("clear_refs"), []byte(peak), 0o600)
}

func (p *process) proc(file string) string {
	return fmt.Sprintf("/proc/%d/%s", p.command.Process.Pid, file)
}
