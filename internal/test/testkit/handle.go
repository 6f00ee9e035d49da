package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// maxRequest limits how much of a request the server reads, so that a mistake in a test cannot exhaust the machine's
// memory.
const maxRequest = 64 << 20

// errCancelled ends a call whose client has sent notifications/cancelled.
var errCancelled = errors.New("cancelled by the client")

// serve answers every HTTP request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.update(func() { s.ledger.inFlight++ })
	defer s.update(func() { s.ledger.inFlight-- })

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "Bad Request: cannot read the body", http.StatusBadRequest)
		return
	}
	var msg protocol.Incoming
	malformed := json.Unmarshal(body, &msg) != nil
	e := s.newExchange(w, r, msg)
	s.update(func() {
		s.ledger.record(Received{
			Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body,
			Era: e.era, RPC: msg.Method, ID: msg.ID, Tool: e.call.Name,
		})
	})

	switch {
	case r.Method == http.MethodPost:
		e.post(malformed)
	case r.Method == http.MethodGet && e.era == Legacy:
		s.serveStream(w, r)
	case r.Method == http.MethodDelete && e.era == Legacy && s.sessioned:
		s.serveDelete(w, r)
	default:
		w.Header().Set("Allow", allowed(e.era))
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

func allowed(era Era) string {
	if era == Modern {
		return http.MethodPost
	}
	return strings.Join([]string{http.MethodGet, http.MethodPost, http.MethodDelete}, ", ")
}

// post answers a POST: it refuses what the protocol forbids, applies a scripted fault, or behaves.
func (e *Exchange) post(malformed bool) {
	media, _, _ := mime.ParseMediaType(e.r.Header.Get("Content-Type"))
	switch {
	case media != protocol.TypeJSON:
		http.Error(e.w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	case !accepts(e.r, protocol.TypeJSON) || !accepts(e.r, protocol.TypeSSE):
		http.Error(e.w, "Accept must contain application/json and text/event-stream", http.StatusNotAcceptable)
		return
	case malformed:
		e.Refuse(http.StatusBadRequest, protocol.CodeParse, "Parse error", "")
		return
	case e.msg.JSONRPC != "2.0":
		e.Refuse(http.StatusBadRequest, protocol.CodeInvalidRequest, "Invalid Request", "")
		return
	case !e.admit():
		return
	}
	if e.msg.Method == "" {
		e.respond()
		return
	}

	cancelled := e.track()
	defer cancelled()
	target := e.msg.Method
	if e.call.Name != "" {
		target = e.call.Name
	}
	fault, faulty := e.server.take(target)
	if e.call.Name != "" && (!faulty || fault.Runs) {
		e.execute()
	}
	if faulty {
		fault.apply(e)
		return
	}
	e.behave()
}

// admit checks that a message fits its era and, in the legacy era, a session.
func (e *Exchange) admit() bool {
	if !e.server.speaks(e.era) {
		e.refuseVersion()
		return false
	}
	if e.era == Modern {
		return e.admitModern()
	}
	switch version := e.r.Header.Get(protocol.HeaderVersion); version {
	case "", protocol.Version20250326, protocol.Version20250618, protocol.Version20251125:
	default:
		e.refuseVersion()
		return false
	}
	if e.msg.Method == protocol.MethodInitialize || e.msg.Method == protocol.MethodDiscover {
		return true
	}
	sess, status := e.server.known(e.r)
	if status != http.StatusOK {
		refuseSession(e.w, status)
		return false
	}
	e.session = sess
	return true
}

// admitModern checks that headers and `_meta` of a request are present and agree.
func (e *Exchange) admitModern() bool {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var version string
	switch {
	case e.msg.ID == nil:
		return true // notifications carry no `_meta`
	case e.r.Header.Get(protocol.HeaderMethod) != e.msg.Method:
		e.Refuse(http.StatusBadRequest, protocol.CodeHeaderMismatch, "Mcp-Method does not match the body", "")
	case e.msg.Method == protocol.MethodCallTool && e.r.Header.Get(protocol.HeaderName) != e.call.Name:
		e.Refuse(http.StatusBadRequest, protocol.CodeHeaderMismatch, "Mcp-Name does not match the body", "")
	case json.Unmarshal(e.msg.Params, &params) != nil, params.Meta[protocol.MetaCapabilities] == nil,
		json.Unmarshal(params.Meta[protocol.MetaVersion], &version) != nil:
		e.Refuse(http.StatusBadRequest, protocol.CodeInvalidParams, "_meta lacks the protocol version or the capabilities", "")
	case version != e.r.Header.Get(protocol.HeaderVersion):
		e.Refuse(http.StatusBadRequest, protocol.CodeHeaderMismatch, "Mcp-Protocol-Version does not match _meta", "")
	case version != protocol.Version20260728:
		e.refuseVersion()
	default:
		return true
	}
	return false
}

func (e *Exchange) refuseVersion() {
	supported := []string{protocol.Version20251125, protocol.Version20250618, protocol.Version20250326}
	if !e.server.speaks(Legacy) {
		supported = []string{protocol.Version20260728}
	}
	data := protocol.Object("supported", supported, "requested", e.r.Header.Get(protocol.HeaderVersion))
	e.Refuse(http.StatusBadRequest, protocol.CodeUnsupportedVersion, "Unsupported protocol version", data)
}

// respond answers a notification or a response as the protocol requires: 202 and nothing more.
func (e *Exchange) respond() {
	id := string(bytes.TrimSpace(e.msg.ID))
	e.server.update(func() {
		if waiting := e.session.answer(id); waiting != nil {
			waiting <- e.msg.Result // buffered, and taken out of the map: never blocks
		}
	})
	e.w.WriteHeader(http.StatusAccepted)
}

// answer removes and returns the channel that waits for the client's response with this id.
func (sess *legacyClient) answer(id string) chan<- json.RawMessage {
	if sess == nil {
		return nil
	}
	waiting := sess.answers[id]
	delete(sess.answers, id)
	return waiting
}

// track ends the call when its client sends notifications/cancelled, and counts calls that end unanswered.
func (e *Exchange) track() (done func()) {
	parent := e.r.Context()
	ctx, cancel := context.WithCancelCause(parent)
	e.r = e.r.WithContext(ctx)
	id := string(e.id)
	if e.session != nil && id != "" {
		e.server.update(func() { e.session.running[id] = cancel })
	}
	return func() {
		e.server.update(func() {
			if e.session != nil {
				delete(e.session.running, id)
			}
			if ctx.Err() != nil && !e.ended() && e.call.Name != "" {
				e.server.ledger.cancelled[e.call.Name]++
			}
		})
		cancel(nil)
	}
}

// cancelled applies notifications/cancelled to the call that it names.
func (e *Exchange) cancelled() {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(e.msg.Params, &params) != nil || e.session == nil {
		return
	}
	e.server.update(func() {
		if cancel := e.session.running[string(params.RequestID)]; cancel != nil {
			cancel(errCancelled)
		}
	})
}
