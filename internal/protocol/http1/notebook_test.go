package http1_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
)

// A notebook collects what servers and callers note.
type notebook struct {
	mu    sync.Mutex
	lines []string
}

func (n *notebook) notef(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notebook) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// errorClass names an error by the properties that callers check.
func errorClass(err error) string {
	var timeout net.Error
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, io.EOF):
		return "EOF"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, http.ErrBodyReadAfterClose):
		return "read after close"
	case errors.Is(err, http.ErrBodyNotAllowed):
		return "no body"
	case errors.Is(err, http.ErrContentLength):
		return "too long"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "unexpected EOF"
	default:
		return "other"
	}
}

func describe(header http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, "  %q: %q\n", name, header[name])
	}
	return b.String()
}
