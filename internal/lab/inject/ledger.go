package inject

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/privacy/visible"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Limits of a ledger.
const (
	maxEntries = 10_000
	maxShown   = 256 // bytes of the arguments of an entry
)

// A LedgerLine is a line of the ledger: all calls of a tool with the same arguments.
type LedgerLine struct {
	Tool string `json:"tool"`
	// Arguments are in canonical form, without secrets, and cut.
	Arguments string `json:"arguments"`
	// Calls is how often clients made the call, Reached how often it reached the server, Faults how often it
	// was made to fail.
	Calls   int `json:"calls"`
	Reached int `json:"reached"`
	Faults  int `json:"faults"`

	counted bool // only counted: neither a tool call nor a call of an API
}

// A Ledger lists what happened to all calls, in the order in which they first came.
type Ledger struct {
	Calls []LedgerLine `json:"calls"`
	// LeftOut counts calls that the ledger had no room for.
	LeftOut int `json:"leftOut,omitzero"`
}

// Reached returns how often calls of a tool with these arguments, in canonical form, reached the server;
// empty means any.
func (l Ledger) Reached(tool, arguments string) int {
	n := 0
	for _, e := range l.Calls {
		if e.Tool == tool && (arguments == "" || e.Arguments == arguments) {
			n += e.Reached
		}
	}
	return n
}

// WriteTable prints the ledger for people. Calls that reached the server more than once are marked.
func (l Ledger) WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CALL\tARGUMENTS\tCALLS\tREACHED\tFAULTS")
	for _, e := range l.Calls {
		mark := ""
		if e.Reached > 1 {
			mark = " *"
		}
		arguments := visible.Escape(firstOf(e.Arguments, 60))
		fmt.Fprintf(table, "%s\t%s\t%d\t%d%s\t%d\n", visible.Escape(e.Tool), arguments, e.Calls, e.Reached, mark, e.Faults)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var err error
	if slices.ContainsFunc(l.Calls, func(e LedgerLine) bool { return e.Reached > 1 }) {
		_, err = fmt.Fprintln(w, "* reached the server more than once with the same arguments")
	}
	if l.LeftOut > 0 {
		_, err = fmt.Fprintf(w, "%d calls are left out\n", l.LeftOut)
	}
	return err
}

// shownArguments returns arguments in the form that an entry shows.
func shownArguments(arguments json.Value) string {
	return firstOf(string(json.Canonical(withoutSecrets(arguments, 0))), maxShown)
}

// withoutSecrets returns a value without the members whose names mark them as secret.
func withoutSecrets(v json.Value, depth int) json.Value {
	const deep = 16
	members := json.MembersOf(v)
	if members == nil || depth == deep || !secret.Any(string(v)) {
		return v
	}
	for i, m := range members {
		if secret.Name(m.Name) {
			members[i].Value = json.Value(`"***"`)
			continue
		}
		members[i].Value = withoutSecrets(m.Value, depth+1)
	}
	return members.AppendTo(nil)
}

func firstOf(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "..."
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
