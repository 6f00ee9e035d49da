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
	"strconv"
	"strings"
	"sync"
	"time"
)

// A notebook collects what handlers and callers note.
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

// newHandler returns a handler that performs the act that the path of a request names.
func newHandler(n *notebook) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		act, ok := acts[name]
		if !ok {
			act = acts["echo"]
		}
		n.notef("%s begins", name)
		defer n.notef("%s ends", name)
		act(n, w, r)
	})
}

func write(n *notebook, w io.Writer, text string) {
	written, err := io.WriteString(w, text)
	n.notef("wrote %d: %s", written, errorClass(err))
}

var acts = map[string]func(n *notebook, w http.ResponseWriter, r *http.Request){
	"echo": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, again := r.Body.Read(make([]byte, 1))
		n.notef("%s %q %q %q %s %d.%d host %q length %d coding %q close %t trailer %v form %t tls %t\n%sbody %x %s, then %s",
			r.Method, r.RequestURI, r.URL.String(), r.URL.Path, r.Proto, r.ProtoMajor, r.ProtoMinor, r.Host, r.ContentLength,
			r.TransferEncoding, r.Close, r.Trailer, r.Form != nil, r.TLS != nil, describe(r.Header), body, errorClass(err), errorClass(again))
		write(n, w, "length "+strconv.Itoa(len(body)))
	},
	"context": func(n *notebook, _ http.ResponseWriter, r *http.Request) {
		server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
		n.notef("server %t %t address %v remote %q", ok, server != nil && server.Handler != nil,
			r.Context().Value(http.LocalAddrContextKey), r.RemoteAddr)
	},
	"early": func(_ *notebook, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	},
	"early-close": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		write(n, w, "too large")
	},
	"read-some": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		some := make([]byte, 3)
		_, err := io.ReadFull(r.Body, some)
		n.notef("%q %s", some, errorClass(err))
		write(n, w, "enough")
	},
	"close-body": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		n.notef("close %s", errorClass(r.Body.Close()))
		_, err := r.Body.Read(make([]byte, 1))
		n.notef("read %s", errorClass(err))
		write(n, w, "closed")
	},
	"deadline": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		n.notef("set: %s", errorClass(http.NewResponseController(w).SetReadDeadline(time.Now().Add(50*time.Millisecond))))
		body, err := io.ReadAll(r.Body)
		n.notef("%q %s, context %s", body, errorClass(err), errorClass(r.Context().Err()))
		write(n, w, "read")
	},
	"deadline-later": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n.notef("set: %s", errorClass(http.NewResponseController(w).SetReadDeadline(time.Now().Add(200*time.Millisecond))))
		wait(n, r, 500*time.Millisecond)
		write(n, w, "waited")
	},
	"duplex": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		n.notef("duplex %s", errorClass(c.EnableFullDuplex()))
		write(n, w, "before")
		n.notef("flush %s", errorClass(c.Flush()))
		body, err := io.ReadAll(r.Body)
		n.notef("%q %s", body, errorClass(err))
		write(n, w, "after")
	},
	"flush": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		for _, piece := range []string{"one", "two", strings.Repeat("x", 5000)} {
			write(n, w, piece)
			_ = http.NewResponseController(w).Flush()
		}
		write(n, w, "end")
	},
	"flush-only": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		n.notef("flush %s", errorClass(http.NewResponseController(w).Flush()))
	},
	"nothing": func(*notebook, http.ResponseWriter, *http.Request) {},
	"sizes": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		for word := range strings.SplitSeq(r.URL.RawQuery, ",") {
			size := sizeOf(word)
			write(n, w, strings.Repeat("y", size))
		}
	},
	"sizes-known": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		sum := 0
		for word := range strings.SplitSeq(r.URL.RawQuery, ",") {
			size := sizeOf(word)
			sum += size
		}
		w.Header().Set("Content-Length", strconv.Itoa(sum))
		for word := range strings.SplitSeq(r.URL.RawQuery, ",") {
			size := sizeOf(word)
			_, err := w.Write(make([]byte, size))
			n.notef("%s", errorClass(err))
		}
	},
	"too-short": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		write(n, w, "short")
	},
	"too-long": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		write(n, w, "abc")
		write(n, w, "def")
	},
	"bad-length": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "-3")
		write(n, w, "abc")
	},
	"status": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "identity")
		w.WriteHeader(code)
		write(n, w, "text")
	},
	"status-length": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("Content-Length", "4")
		w.Header().Set("Transfer-Encoding", "chunked")
		w.WriteHeader(code)
		write(n, w, "text")
	},
	"coding": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Transfer-Encoding", r.URL.RawQuery)
		write(n, w, "text")
	},
	"twice": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot)
		write(n, w, "text")
	},
	"informs": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		write(n, w, "text")
	},
	"fields": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["Two"] = []string{"a", "b"}
		h["lower"] = []string{"kept"}
		h["Broken Name"] = []string{"dropped"}
		h.Set("Lines", "a\r\nInjected: b\n c")
		h.Set("Spaces", "  around\t")
		h["Empty"] = []string{""}
		h["None"] = nil
		h.Set("Date", "yesterday")
		h["Content-Type"] = nil
		h["Connection"] = []string{"keep-alive", "X-Other"}
		write(n, w, "<html>")
	},
	"connection": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", strings.ReplaceAll(r.URL.RawQuery, "+", " "))
		write(n, w, "text")
	},
	"changes": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Before", "yes")
		w.Header().Set("Content-Type", "text/before")
		h := w.Header()
		w.WriteHeader(http.StatusOK)
		h.Set("Before", "no")
		h.Set("After", "no")
		w.Header().Set("Content-Type", "text/after")
		w.Header().Set("Connection", "close")
		write(n, w, "text")
	},
	"sniffed": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		write(n, w, "<html><body>")
		write(n, w, "</body></html>")
	},
	"encoded": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "x")
		write(n, w, "<html>")
	},
	"abort": func(*notebook, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"abort-buffered": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		write(n, w, "held back")
		panic(http.ErrAbortHandler)
	},
	"abort-flushed": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		write(n, w, "sent")
		_ = http.NewResponseController(w).Flush()
		write(n, w, "held back")
		panic(http.ErrAbortHandler)
	},
	"abort-long": func(n *notebook, w http.ResponseWriter, _ *http.Request) {
		write(n, w, strings.Repeat("z", 3000))
		panic(http.ErrAbortHandler)
	},
	"panic": func(*notebook, http.ResponseWriter, *http.Request) { panic("oh") },
	"bad-status": func(_ *notebook, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(99)
	},
	"wait": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		n.notef("%q %s", body, errorClass(err))
		wait(n, r, time.Second)
		write(n, w, "waited")
	},
	"wait-unread": func(n *notebook, w http.ResponseWriter, r *http.Request) {
		wait(n, r, time.Second)
		write(n, w, "waited")
	},
}

// sizeOf parses a number of bytes and limits it.
func sizeOf(word string) int {
	size, _ := strconv.Atoi(word)
	return max(0, min(size, 100_000))
}

func wait(n *notebook, r *http.Request, d time.Duration) {
	select {
	case <-r.Context().Done():
		n.notef("context: %s", errorClass(context.Cause(r.Context())))
	case <-time.After(d):
		n.notef("time")
	}
}
