package testkit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// NewEraVariable is the environment variable that makes a test binary a [NewEraProgram]; see [ChildVariable].
const NewEraVariable = "TESTKIT_NEW_ERA"

// NewEraProgram starts a server on stdio of both eras with this command line and speaks for it, but as one of the new era
// alone: it refuses initialize. It returns the exit code.
func NewEraProgram(command []string) int {
	cmd := exec.Command(command[0], command[1:]...)
	out := &lockedWriter{w: os.Stdout}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		if refusal := refuseOldEra(line); refusal != nil {
			_, _ = out.Write(append(refusal, '\n')) // whoever started it may have gone
			continue
		}
		_, _ = stdin.Write(line) // the end of the program ends its stdout
	}
	_ = stdin.Close()
	_ = cmd.Wait()
	return 0
}

// refuseOldEra returns the answer to a message that servers of the new era do not know; nil: they do.
func refuseOldEra(body []byte) []byte {
	var m message
	if json.Unmarshal(body, &m) != nil || m.Method != methodInitialize {
		return nil
	}
	return []byte(envelope(m.ID, `"error":`+rpcError(codeMethodNotFound, "Method not found", "")))
}

// A lockedWriter is written to by several goroutines, each of which writes whole lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
