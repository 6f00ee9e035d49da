package upstream

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// onlyZombies reports whether all processes of the group have ended and were only
// not waited for. See proc_pid_stat(5).
func onlyZombies(group int) bool {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	found := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it is gone
		}
		var state string
		var parent, member int
		_, rest, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" ")) // the name may hold anything
		if _, err := fmt.Sscan(string(rest), &state, &parent, &member); err != nil || member != group {
			continue
		}
		if state != "Z" && state != "X" {
			return false
		}
		found = true
	}
	return found
}
