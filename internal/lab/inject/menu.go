package inject

import (
	"slices"
	"strings"
)

// Traffic is the kind of traffic that an injector handles.
type Traffic int

// The kinds of traffic.
const (
	MCP    Traffic = 1 << iota // MCP over Streamable HTTP
	Stdio                      // MCP on standard input and output
	API                        // HTTP other than MCP
	Tunnel                     // what a CONNECT opens: bytes, usually encrypted
)

// String returns the name used in messages.
func (t Traffic) String() string {
	var names []string
	for _, known := range []struct {
		traffic Traffic
		name    string
	}{{MCP, "MCP over HTTP"}, {Stdio, "MCP on stdio"}, {API, "an HTTP API"}, {Tunnel, "a tunnel"}} {
		if t&known.traffic != 0 {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ", ")
}

// Effect says whether the server gets a call whose client gets a fault.
type Effect string

// The effects.
const (
	Before Effect = "before" // the server never sees the call
	After  Effect = "after"  // the server carries it out, and its answer is lost or changed
)

// The faults, by their names in files and flags.
const (
	refuse      = "refuse"
	resetBefore = "reset-before"
	resetWithin = "reset-within"
	resetAfter  = "reset-after"
	hang        = "hang"
	drip        = "drip"
	truncate    = "truncate"
	wrongID     = "wrong-id"
	twice       = "twice"
	garbage     = "garbage"
	exit        = "exit"
	status      = "status"
	inContract  = "contract"
	empty       = "empty"
	stale       = "stale"
	cut         = "cut"
	errorText   = "error-text"
)

// A FaultKind is a fault on the menu.
type FaultKind struct {
	Name string
	// About says what the client sees.
	About string
	// Options are the keys beside the name, as a file has them.
	Options string
	// Effects are those that the fault can have, its default first.
	Effects []Effect
	// Where is the traffic in which it is possible.
	Where Traffic
}

var menu = []FaultKind{
	{refuse, "the connection is closed without a byte", "", []Effect{Before}, MCP | API | Tunnel},
	{resetBefore, "the connection is reset before any byte of an answer", "", []Effect{Before, After}, MCP | API | Tunnel},
	{resetWithin, "the connection is reset in the middle of the answer", "", []Effect{After}, MCP | API | Tunnel},
	{resetAfter, "the connection is reset after the whole answer", "", []Effect{After}, MCP | API | Tunnel},
	{hang, "no answer, until the client disconnects", "", []Effect{Before, After}, MCP | Stdio | API | Tunnel},
	{drip, "the answer comes byte by byte", "drip: 100ms, the pause between bytes", []Effect{After}, MCP | Stdio | API | Tunnel},
	{truncate, "half of the answer, then a clean end", "", []Effect{After}, MCP | Stdio | API | Tunnel},
	{wrongID, "the answer has an id that no request has", "", []Effect{After}, MCP | Stdio},
	{twice, "the answer comes twice", "", []Effect{After}, MCP | Stdio},
	{garbage, "a line that is not a message comes before the answer", "", []Effect{After}, Stdio},
	{exit, "the server's program ends", "", []Effect{Before, After}, Stdio},
	{
		status, "an answer with that status", "status: 503, headers: {NAME: VALUE}, body: TEXT or html: true",
		[]Effect{Before, After},
		MCP | API,
	},
	{
		inContract, "a failure in the exact form of a contract", "contract: NAME, code: CODE, wait: 2s, message: TEXT",
		[]Effect{Before, After},
		MCP | Stdio,
	},
	{empty, "every list in the answer is empty", "", []Effect{After}, MCP | Stdio | API},
	{stale, "the first answer to the same call, however old", "", []Effect{After}, MCP | Stdio | API},
	{
		cut, "lists end early, and the answer names no next page", "cut: 2, the items that stay (default: half)",
		[]Effect{After},
		MCP | Stdio | API,
	},
	{errorText, "a success whose text tells of an error", "error-text: TEXT", []Effect{Before, After}, MCP | Stdio | API},
}

// Menu returns every fault: of the transport, of HTTP, of contracts, and those that look like a success.
func Menu() []FaultKind { return slices.Clone(menu) }

// kindOf returns the fault of that name.
func kindOf(name string) (FaultKind, bool) {
	i := slices.IndexFunc(menu, func(d FaultKind) bool { return d.Name == name })
	if i < 0 {
		return FaultKind{}, false
	}
	return menu[i], true
}

// breaksTunnels reports whether the fault is possible on a connection whose content is unknown.
func (f *Fault) breaksTunnels() bool {
	kind, ok := kindOf(f.Name)
	return ok && kind.Where&Tunnel != 0
}
