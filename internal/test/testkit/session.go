package testkit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A legacyClient is a client of the legacy era, in its session.
type legacyClient struct {
	messages []string                           // sent on the GET stream so far; an event's id is its index plus one
	readers  int                                // open GET streams
	running  map[string]context.CancelCauseFunc // calls that may be cancelled, by request id
	answers  map[string]chan json.RawMessage    // channels for the client's responses, by the id of the server's request
}

// A subscription is an open subscriptions/listen request of the modern era.
type subscription struct {
	id       json.RawMessage // the request's
	messages []string
}

// sharedSession is the key of the one session that clients share if the server issues no session ids.
const sharedSession = ""

// newSession starts a session and returns its id.
func (s *Server) newSession() string {
	id := sharedSession
	if s.sessioned {
		id = rand.Text()
	}
	s.update(func() { s.session(id) })
	return id
}

// session returns the session with this id, and creates it if needed. The caller holds the lock.
func (s *Server) session(id string) *legacyClient {
	sess := s.sessions[id]
	if sess == nil {
		sess = &legacyClient{
			running: make(map[string]context.CancelCauseFunc),
			answers: make(map[string]chan json.RawMessage),
		}
		s.sessions[id] = sess
	}
	return sess
}

// ForgetSessions forgets all current sessions: further requests with one of them are answered with 404, and a
// new initialize works. Calls in progress continue.
func (s *Server) ForgetSessions() {
	s.update(func() { clear(s.sessions) })
}

// known finds the session that r names. A server without sessions always has one.
func (s *Server) known(r *http.Request) (*legacyClient, int) {
	id := r.Header.Get(protocol.HeaderSession)
	if id == "" && s.sessioned {
		return nil, http.StatusBadRequest
	}
	var sess *legacyClient
	s.update(func() {
		if !s.sessioned {
			sess = s.session(sharedSession)
			return
		}
		sess = s.sessions[id]
	})
	if sess == nil {
		return nil, http.StatusNotFound
	}
	return sess, http.StatusOK
}

// Notify sends a message on every stream that is open, or, in the legacy era, will be opened again with
// Last-Event-ID. The message is sent unchanged.
func (s *Server) Notify(message string) {
	s.update(func() {
		for _, sess := range s.sessions {
			sess.messages = append(sess.messages, message)
		}
		for st := range s.streams {
			st.messages = append(st.messages, message)
		}
	})
}

// SetTools replaces the tools that [WithTools] has added and tells every open stream that the list has changed.
func (s *Server) SetTools(tools ...Tool) {
	plain := `{"jsonrpc":"2.0","method":"` + protocol.NotifyToolsChanged + `"}`
	s.update(func() {
		s.tools = append(BuiltinTools(), tools...)
		for _, sess := range s.sessions {
			sess.messages = append(sess.messages, plain)
		}
		for st := range s.streams {
			st.messages = append(st.messages, protocol.Subscribed(protocol.NotifyToolsChanged, st.id, ""))
		}
	})
}

// serveStream answers GET with the server's own messages, from the event after Last-Event-ID on.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, protocol.TypeSSE) {
		http.Error(w, "Not Acceptable: Accept must contain text/event-stream", http.StatusNotAcceptable)
		return
	}
	sess, status := s.known(r)
	if status != http.StatusOK {
		refuseSession(w, status)
		return
	}
	var from int
	s.read(func() { from = len(sess.messages) })
	out := &Events{w: w}
	out.begin() // before it is counted: a test that waits for that may stop the server next
	s.update(func() { sess.readers++ })
	defer s.update(func() { sess.readers-- })
	if last, err := strconv.Atoi(r.Header.Get(protocol.HeaderLastEventID)); err == nil {
		from = min(max(last, 0), from)
	}
	s.pump(out, r, from, true, func() []string { return sess.messages })
}

// serveListen answers subscriptions/listen with a stream that lasts until the client closes it.
func (s *Server) serveListen(e *Exchange) {
	st := &subscription{id: e.id}
	var params struct {
		Notifications json.RawMessage `json:"notifications"`
	}
	_ = json.Unmarshal(e.params, &params) // a missing member becomes {}
	if params.Notifications == nil {
		params.Notifications = json.RawMessage("{}")
	}
	s.update(func() { s.streams[st] = struct{}{} })
	defer s.update(func() { delete(s.streams, st) })
	out := e.Events()
	out.Send("", protocol.Subscribed(protocol.NotifyListening, e.id, `,"notifications":`+string(params.Notifications)))
	s.pump(out, e.r, 0, false, func() []string { return st.messages })
}

// pump sends messages from an index on, and those that follow, until the client or the server goes.
func (s *Server) pump(out *Events, r *http.Request, from int, numbered bool, messages func() []string) {
	out.begin()
	for {
		var fresh []string
		changed := s.read(func() { fresh = slices.Clone(messages()[from:]) })
		for _, message := range fresh {
			from++
			id := ""
			if numbered {
				id = strconv.Itoa(from)
			}
			out.Send(id, message)
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// serveDelete ends a session.
func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request) {
	if _, status := s.known(r); status != http.StatusOK {
		refuseSession(w, status)
		return
	}
	s.update(func() { delete(s.sessions, r.Header.Get(protocol.HeaderSession)) })
	w.WriteHeader(http.StatusNoContent)
}

// refuseSession reports that a request names no session or an unknown one, as servers built with the Go SDK
// do.
func refuseSession(w http.ResponseWriter, status int) {
	if status == http.StatusNotFound {
		http.Error(w, "session not found", status)
		return
	}
	http.Error(w, "Bad Request: Mcp-Session-Id header is required", status)
}

func accepts(r *http.Request, mediaType string) bool {
	for value := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		name, _, _ := strings.Cut(value, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case mediaType, "*/*":
			return true
		}
	}
	return false
}
