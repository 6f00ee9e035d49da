package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// modernVariable is the environment variable that makes a test binary a [modernProgram]; see [child.Variable].
const modernVariable = "TESTKIT_MODERN"

// modernProgram starts a server on stdio of both eras with this command line and relays its messages, but
// only as a server of the modern era: it refuses initialize. It returns the exit code.
func modernProgram(command []string) int {
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
		if refusal := refuseLegacy(line); refusal != nil {
			_, _ = out.Write(append(refusal, '\n')) // the parent may have gone
			continue
		}
		_, _ = stdin.Write(line) // the end of the program ends its stdout
	}
	_ = stdin.Close()
	_ = cmd.Wait()
	return 0
}

// refuseLegacy returns the answer to a message that servers of the modern era do not know; nil: they know it.
func refuseLegacy(body []byte) []byte {
	var m protocol.Incoming
	if json.Unmarshal(body, &m) != nil || m.Method != protocol.MethodInitialize {
		return nil
	}
	return []byte(protocol.Refusal(m.ID, protocol.CodeMethodNotFound, "Method not found", ""))
}

// maxRequest limits what onlyModern reads of a request.
const maxRequest = 64 << 20

// onlyModern returns a handler that turns a server of both eras over HTTP into one of the modern era only: it
// refuses messages of another version, and every request but POST.
func onlyModern(both http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
			return
		case r.Header.Get(protocol.HeaderVersion) == protocol.Version20260728:
			both.ServeHTTP(w, r)
			return
		}
		var m protocol.Incoming
		_ = json.NewDecoder(io.LimitReader(r.Body, maxRequest)).Decode(&m) // without an id it is answered, too
		data := protocol.Object("supported", []string{protocol.Version20260728}, "requested", r.Header.Get(protocol.HeaderVersion))
		w.Header().Set("Content-Type", protocol.TypeJSON)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, protocol.Refusal(m.ID, protocol.CodeUnsupportedVersion, "Unsupported protocol version", data))
	})
}

// A lockedWriter is shared by several goroutines, each of which writes whole lines.
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
