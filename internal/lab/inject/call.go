package inject

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// An intercept is a request in the form that rules and the ledger use.
type intercept struct {
	method    string
	tool      string // of an MCP server
	path      string // of an HTTP API
	caller    string
	arguments json.Value // an object, or nil

	id     wire.ID // of an MCP request
	modern bool    // it is of the modern era
	http   bool    // its answer is one of HTTP
	tunnel bool    // it is a CONNECT
}

// name returns the call's name in the ledger.
func (c *intercept) name() string {
	switch {
	case c.path != "":
		return c.method + " " + c.path
	case c.tool != "":
		return c.tool
	default:
		return c.method
	}
}

// key returns a key that is the same for the same call from any client.
func (c *intercept) key() string {
	sum := sha256.Sum256(json.Canonical(c.arguments))
	return c.name() + "\x00" + string(sum[:])
}

// ofMessage returns the call in an MCP request, or nil for any other message.
func ofMessage(text []byte) *intercept {
	var m wire.Message
	if wire.Parse(text, &m) != nil || m.Kind != wire.Request {
		return nil
	}
	era, _ := wire.EraOf(m.ProtocolVersion)
	c := &intercept{method: m.Method, id: m.ID.Clone(), modern: era == wire.Modern, caller: clientName(m.ClientInfo)}
	if m.Method == wire.MethodToolsCall {
		c.tool = m.Name
		c.arguments = json.Value(m.Arguments)
	} else {
		c.arguments = json.Without(json.Value(m.Params), "_meta")
	}
	if m.Method == wire.MethodInitialize {
		c.caller = clientName(json.Lookup(m.Params, "/clientInfo"))
	}
	return c
}

func clientName(info []byte) string {
	var client struct {
		Name string `json:"name"`
	}
	if json.UnmarshalLenient(info, &client) != nil {
		return ""
	}
	return client.Name
}

// ofRequest returns the call in a request to an HTTP API. Its query and its body are the arguments: a body
// that is not an object is the argument "body".
func ofRequest(r *http.Request, body []byte) *intercept {
	c := &intercept{method: r.Method, path: r.URL.Path, caller: r.UserAgent(), http: true}
	if c.path == "" {
		c.path = "/"
	}
	var members json.Members
	query := r.URL.Query()
	for _, name := range sortedKeys(query) {
		members.Text(name, strings.Join(query[name], ","))
	}
	switch object := json.MembersOf(body); {
	case object != nil:
		members = append(members, object...)
	case len(body) > 0 && json.Valid(body):
		members.Add("body", body)
	case len(body) > 0:
		sum := sha256.Sum256(body)
		members.Text("body", "sha256:"+hex.EncodeToString(sum[:]))
	}
	c.arguments = members.AppendTo(nil)
	return c
}

// matches reports whether the match applies to the call; attempt counts how often it has been made, 0 for
// any.
func (m *Match) matches(c *intercept, attempt int) bool {
	if c.path == "" {
		if m.Method == "" && c.method != wire.MethodToolsCall || m.Tool != "" && c.tool == "" {
			return false
		}
	}
	for _, p := range []struct{ pattern, text string }{
		{m.Tool, c.tool}, {m.Method, c.method}, {m.Path, c.path}, {m.Caller, c.caller},
	} {
		if ok, err := path.Match(p.pattern, p.text); p.pattern != "" && (!ok || err != nil) {
			return false
		}
	}
	for pointer, want := range m.Arguments {
		got := json.Lookup(c.arguments, json.Pointer(pointer))
		if got == nil || !bytes.Equal(json.Canonical(got), json.Canonical(json.Value(want))) {
			return false
		}
	}
	return attempt == 0 || len(m.Attempt) == 0 || slices.Contains(m.Attempt, attempt)
}
