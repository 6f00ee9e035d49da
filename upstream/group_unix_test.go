//go:build unix

package upstream_test

import (
	"os/exec"
	"strconv"
	"strings"
)

// alive reports whether a process of the group is left that has not ended.
func alive(group int) bool {
	out, err := exec.Command("ps", "-A", "-o", "pgid=", "-o", "stat=").Output()
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == strconv.Itoa(group) && !strings.HasPrefix(fields[1], "Z") {
			return true
		}
	}
	return false
}
