package record

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// maxSessions is how many sessions there are at once. The oldest one ends when there is another.
const maxSessions = 1000

// handler plays to clients over HTTP.
type handler struct {
	stage *stage

	mu       sync.Mutex
	sessions []string
}

// Handler plays to clients over Streamable HTTP. A new session goes on where the one before it was, as with a server.
func (p *Player) Handler() http.Handler { return &handler{stage: p.stage(true)} }

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(wire.HeaderSession)
	lost := id != "" && !h.knows(id)
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r, lost)
	case lost:
		noSession(w)
	case r.Method == http.MethodDelete && id != "":
		h.end(id)
		w.WriteHeader(http.StatusNoContent)
	default:
		c, _ := h.stage.find(r.Method, nil)
		if c == nil {
			w.Header().Set("Allow", "POST, DELETE")
			http.Error(w, "the recording has no "+r.Method, http.StatusMethodNotAllowed)
			return
		}
		a := &httpAnswer{w: w, header: map[string]string{}}
		h.stage.play(r.Context(), c, &spoken{}, a)
		a.hold(r.Context())
	}
}

func noSession(w http.ResponseWriter) { http.Error(w, "there is no such session", http.StatusNotFound) }

// post answers a message. One of a session that is lost gets what the recorded server said to it.
func (h *handler) post(w http.ResponseWriter, r *http.Request, lost bool) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxLine+1))
	switch {
	case err != nil:
		return // its client is gone
	case len(text) > maxLine:
		http.Error(w, "the message is too large", http.StatusRequestEntityTooLarge)
		return
	case lost && !h.stage.follows(text):
		noSession(w)
		return
	}
	m := read(text)
	a := &httpAnswer{w: w, header: map[string]string{}}
	if m.Method == wire.MethodInitialize {
		a.session = h.begin
	}
	if play := h.stage.hear(text); play != nil {
		play(r.Context(), a)
	}
	switch {
	case a.begun:
	case m.asks():
		a.hold(r.Context())
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// knows reports whether there is a session of that id.
func (h *handler) knows(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.sessions, id)
}

// begin names a new session.
func (h *handler) begin() string {
	id := rand.Text()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions = append(h.sessions[max(0, len(h.sessions)+1-maxSessions):], id)
	return id
}

// end ends a session.
func (h *handler) end(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions = slices.DeleteFunc(h.sessions, func(other string) bool { return other == id })
}

// httpAnswer is the answer to a request.
type httpAnswer struct {
	w       http.ResponseWriter
	session func() string // names a new session

	mu     sync.Mutex
	status int
	header map[string]string // as recorded; empty, unless that was over HTTP
	begun  bool
	events bool
}

// head implements [out].
func (a *httpAnswer) head(status int, headers map[string]string) {
	a.status, a.header = status, headers
	if strings.HasPrefix(headers["Content-Type"], wire.TypeEventStream) {
		a.begin(true)
	} else if status == http.StatusAccepted {
		a.begin(false)
	}
}

// begin writes the head.
func (a *httpAnswer) begin(events bool) {
	kind := wire.TypeJSON
	for name, value := range a.header {
		if name != wire.HeaderSession {
			a.w.Header().Set(name, value)
		}
	}
	if events {
		kind = wire.TypeEventStream
	}
	if a.w.Header().Get("Content-Type") == "" || events {
		a.w.Header().Set("Content-Type", kind)
	}
	if a.session != nil && (a.status == 0 || a.header[wire.HeaderSession] != "") {
		a.w.Header().Set(wire.HeaderSession, a.session())
	}
	a.begun, a.events = true, events
	a.w.WriteHeader(max(a.status, http.StatusOK))
	a.flush()
}

func (a *httpAnswer) flush() {
	_ = http.NewResponseController(a.w).Flush() // if its client is gone, the next write fails as well
}

// say implements [out].
func (a *httpAnswer) say(text []byte, answers bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.begun && !a.events: // it was one text
		return
	case a.status == 0 && read(text).Method == "" && !answers: // garbage on standard output
		return
	case !a.begun:
		a.begin(!answers)
	}
	if a.events {
		text = wire.AppendEvent(nil, "", "message", text)
	}
	if _, err := a.w.Write(text); err == nil { //nolint:gosec // what a recorded server said, in its own type
		a.flush()
	}
}

// broken implements [out].
func (*httpAnswer) broken(string) { panic(http.ErrAbortHandler) }

// hold keeps the client waiting, as the recorded server did.
func (a *httpAnswer) hold(ctx context.Context) {
	if !a.begun {
		a.begin(true)
	}
	if a.events {
		<-ctx.Done()
	}
}
