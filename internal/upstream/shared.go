package upstream

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// Clients that share a child must not see each other. What the child says is for the
// client of the request, the progress token, or the subscription that it names; what
// names none may be about any of them, and goes to nobody. That lists have changed
// concerns everybody. Tasks and logs name no client, so that neither is offered.

// methodsOfTasks begin the methods of tasks (MCP 2025-11-25, basic/utilities/tasks), and
// extensionOfTasks names those of the modern era among a client's extensions.
const (
	methodsOfTasks   = "tasks/"
	extensionOfTasks = "io.modelcontextprotocol/tasks"
)

// isShared reports whether the child of that key is one of several clients.
func (s *Stdio) isShared(key string) bool {
	return s.command.Share == ShareAll || key == anonymous
}

// concernsAll reports whether a notification says something to everybody.
func concernsAll(method string) bool {
	switch method {
	case wire.MethodToolsChanged, wire.MethodPromptsChanged, wire.MethodResourcesChanged:
		return true
	default:
		return false
	}
}

// hear implements [listener] for the child that all clients share. A stream whose
// reader does not keep up is ended, so that it knows.
func (s *Stdio) hear(c *child, signs *wire.Signs, text []byte) {
	if signs.Message() == wire.Request {
		c.reply(wire.AppendError(nil, signs.ID, wire.CodeMethodNotFound, "no client capabilities were declared", nil))
		return
	}
	method := string(signs.Method)
	if !concernsAll(method) && method != wire.MethodUpdated {
		return
	}
	uri := "" // without one it is nobody's
	_ = json.Unmarshal(json.Lookup(text, "/params/uri"), &uri)
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []byte
	for b, x := range s.streams {
		if method == wire.MethodUpdated && !s.wanted.Hears(x, uri) {
			continue
		}
		if kept == nil {
			kept = bytes.Clone(text)
		}
		if !b.Put(kept) {
			b.End(io.EOF)
			delete(s.streams, b)
		}
	}
}

// refuseShared returns the answer to a request that would concern other clients of a
// shared child; nil: it does not.
func refuseShared(m *wire.Message) *http.Response {
	var what string
	switch {
	case strings.HasPrefix(m.Method, methodsOfTasks):
		what = "tasks do"
	case m.Method == wire.MethodSetLevel:
		what = "logs do"
	default:
		return nil
	}
	return wire.RespondError(m.ID, wire.CodeMethodNotFound,
		"several clients share this server's program, and its "+what+" not say whose they are: they are not offered")
}

// withoutTask returns a request that cannot become a task, as a server without tasks takes
// it. The error says that it cannot be read any more.
func withoutTask(m *wire.Message) (*wire.Message, error) {
	params := m.Params
	if json.Lookup(params, "/task") != nil {
		params = change(params, "task", nil)
	}
	if bytes.Contains(m.ClientCapabilities, []byte(extensionOfTasks)) {
		params = change(params, "_meta", func(meta json.Value) json.Value {
			return change(meta, wire.MetaClientCapabilities, func(capabilities json.Value) json.Value {
				return change(capabilities, "extensions", func(extensions json.Value) json.Value {
					return change(extensions, extensionOfTasks, nil)
				})
			})
		})
	}
	if bytes.Equal(params, m.Params) {
		return m, nil
	}
	plain := new(wire.Message)
	return plain, wire.Parse(wire.Splice(nil, m.Raw, wire.Edit{At: m.ParamsAt, With: params}), plain)
}

// change returns an object with one of its members changed, or without it where by is nil.
func change(object json.Value, name string, by func(json.Value) json.Value) json.Value {
	var members map[string]json.Value
	if json.UnmarshalLenient(object, &members) != nil || members[name] == nil {
		return object
	}
	if by == nil {
		delete(members, name)
	} else {
		members[name] = by(members[name])
	}
	changed, err := json.Marshal(members)
	if err != nil {
		return object
	}
	return changed
}

// forAll returns the answer to initialize of a child that clients share: it offers
// neither tasks nor logs.
func (r *initResult) forAll() *initResult {
	result := change(r.result, "capabilities", func(capabilities json.Value) json.Value {
		return change(change(capabilities, "tasks", nil), "logging", nil)
	})
	return &initResult{result: result, version: r.version}
}
