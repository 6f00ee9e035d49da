package upstream

import (
	"bytes"
	"io"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Clients that share a child must not see each other's data. A message from the child is for the client of
// the request, the progress token, or the subscription that it names; if it names none, nobody gets it,
// except for the news that a list has changed. Tasks and logs name no client, and are not offered.

const methodsOfTasks = "tasks/" // MCP 2025-11-25, basic/utilities/tasks

// isShared reports whether several clients share the child of that key.
func (s *Stdio) isShared(key string) bool {
	return s.command.Share == ShareAll || key == anonymous
}

// hear handles what the child that all clients share says unasked; it does not block, nor keep text. If a
// reader does not keep up, its stream ends, so that it knows that it missed something.
func (s *Stdio) hear(c *child, signs *wire.Signs, text []byte) {
	if signs.Message() == wire.Request {
		c.reply(wire.AppendError(nil, signs.ID, wire.CodeMethodNotFound, "no client capabilities were declared", nil))
		return
	}
	method := string(signs.Method)
	switch method {
	case wire.MethodToolsChanged, wire.MethodPromptsChanged, wire.MethodResourcesChanged, wire.MethodUpdated:
	default:
		return
	}
	uri := json.Text(text, "/params/uri") // without one it belongs to nobody
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(copied(signs, text), func(x *childSession) bool { return method != wire.MethodUpdated || s.wanted.Hears(x, uri) })
}

// tell tells those who hear a shared child something that is for them. s.mu is held.
func (s *Stdio) tell(what delivery, isFor func(*childSession) bool) {
	for b, x := range s.streams {
		if isFor(x) && !b.put(what) {
			b.End(io.EOF)
			delete(s.streams, b)
		}
	}
}

// follow lets a child that all clients share take the place of one that has ended: it is told of the resources that clients have subscribed
// to, and they are told that these, and its lists, may have changed meanwhile. s.mu is held.
func (s *Stdio) follow(c *child) {
	for _, uri := range s.wanted.All() {
		c.orderAbout(wire.MethodSubscribe, uri)
	}
	if !s.preceded {
		s.preceded = true
		return
	}
	announced := wire.Announced(json.Lookup(c.hello, "/capabilities"))
	for _, method := range announced.Changes() {
		s.tell(delivery{text: wire.AppendRequest(nil, nil, method, nil)}, func(*childSession) bool { return true })
	}
	for _, uri := range s.wanted.All() {
		updated := wire.AppendRequest(nil, nil, wire.MethodUpdated, wire.OfResource(uri))
		s.tell(delivery{text: updated}, func(x *childSession) bool { return s.wanted.Has(x, uri) })
	}
}

// refuseShared refuses a request whose effects other clients would see; nil if it has none.
func refuseShared(m *wire.Message) *wire.Answer {
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

// withoutTask returns a request without the members that could make it a task.
func withoutTask(m *wire.Message) (*wire.Message, error) {
	hasExtension := bytes.Contains(m.ClientCapabilities, []byte(wire.ExtensionTasks))
	if m.Task == nil && !hasExtension {
		return m, nil
	}
	params := json.Without(json.Value(m.Params), "task")
	if hasExtension {
		params = json.Change(params, "_meta", func(meta json.Value) json.Value {
			return json.Change(meta, wire.MetaClientCapabilities, func(capabilities json.Value) json.Value {
				return json.Change(capabilities, "extensions", func(extensions json.Value) json.Value {
					return json.Without(extensions, wire.ExtensionTasks)
				})
			})
		})
	}
	plain := new(wire.Message)
	return plain, wire.Parse(wire.Splice(nil, m.Raw, wire.Edit{At: m.ParamsAt, With: params}), plain)
}

// forAll returns the result of initialize without what clients that share a child are not offered.
func forAll(hello json.Value) json.Value {
	return json.Change(hello, "capabilities", func(capabilities json.Value) json.Value {
		return json.Without(json.Without(capabilities, "tasks"), "logging")
	})
}
