package contract

import "github.com/recoursehq/recourse/internal/protocol/json"

// Some contracts spell a wait named retryAfter in milliseconds, most of the world in seconds.

const (
	waitMember = "retryAfter"
	longWait   = 1000 // from which on a number that may be either is taken for milliseconds
)

// waitMembers are the names under which a wait is stated.
var waitMembers = []string{waitMember, waitMember + "Ms", "retry_after"}

// waitsInMs reports whether a form that c reads has the wait in milliseconds under the name that others use for seconds.
func (c *Contract) waitsInMs() bool {
	if c == nil {
		return false
	}
	for i := range c.reads {
		if c.reads[i].shape.hasWaitInMs() {
			return true
		}
	}
	return false
}

func (sh *shape) hasWaitInMs() bool {
	if sh == nil {
		return false
	}
	for i := range sh.members {
		m := &sh.members[i]
		if m.name == waitMember && m.path != nil && m.path.Src == "afterMs" || m.nested.hasWaitInMs() {
			return true
		}
	}
	return false
}

// spelled returns an object in no contract's form as others spell it: if the server is expected to tell a wait in
// milliseconds, the member for it is named so where it is at least the least.
func (r *Reader) spelled(n *json.Node, least float64) *json.Node {
	if !n.IsObject() || !r.Own.waitsInMs() && !r.Weak.waitsInMs() && !r.Upstream.waitsInMs() {
		return n
	}
	return json.NodeOf(inMs(n.Raw, least, 2))
}

func inMs(object json.Value, least float64, depth int) json.Value {
	members := json.MembersOf(object)
	for i := range members {
		m := &members[i]
		switch m.Name {
		case waitMember, "retry_after":
			var number float64
			if m.Value.Kind() == '0' && json.UnmarshalLenient(m.Value, &number) == nil && number >= least {
				m.Name = waitMember + "Ms"
			}
		case "error", "details", "context", "data":
			if m.Value.Kind() == '{' && depth > 0 {
				m.Value = inMs(m.Value, least, depth-1)
			}
		}
	}
	return members.AppendTo(nil)
}
