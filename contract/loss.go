package contract

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
)

// Lost is a member of the record that a contract's own form does not carry: who
// has no use for the record in _meta does not get it.
type Lost struct {
	// Path names the member, such as provider or violations[].pointer. A list of
	// which only the first item is carried is hints[1:].
	Path string
	// Kinds are the kinds of which it is lost; nil: all of them.
	Kinds []recourse.Kind
}

// member returns the member of the record that l is of.
func (l Lost) member() string {
	name, _, _ := strings.Cut(l.Path, ".")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// Loss returns what the contract does not carry in a tool result: it writes a record
// with every member set, reads it back without _meta, and compares. The members
// stand in the order of the record's JSON form.
func (c *Contract) Loss() []Lost {
	return lossOfKinds(func(kind recourse.Kind) ([]string, bool) {
		whole, read, ok := c.carry(everything(kind))
		if !ok {
			return nil, false
		}
		return lostBetween(whole, read), true
	})
}

// lossOfKinds collects what is lost of each kind; of reports false for a kind that is
// not to be counted.
func lossOfKinds(of func(recourse.Kind) (lost []string, ok bool)) []Lost {
	var order []string
	kinds := map[string][]recourse.Kind{}
	counted := 0
	for _, kind := range recourse.Kinds() {
		lost, ok := of(kind)
		if !ok {
			continue
		}
		counted++
		for _, path := range lost {
			if kinds[path] == nil {
				order = append(order, path)
			}
			kinds[path] = append(kinds[path], kind)
		}
	}
	list := make([]Lost, len(order))
	for i, path := range order {
		list[i] = Lost{Path: path, Kinds: kinds[path]}
		if len(kinds[path]) == counted {
			list[i].Kinds = nil
		}
	}
	order = recordOrder()
	slices.SortStableFunc(list, func(a, b Lost) int {
		return slices.Index(order, a.member()) - slices.Index(order, b.member())
	})
	return list
}

// carry writes e as a tool result and reads that back without _meta. It returns what
// was written, with the values that a contract may keep back, and what was read; ok
// is false for a failure that is no tool result.
func (c *Contract) carry(e *recourse.Error) (written, read *recourse.Error, ok bool) {
	a := c.Write(e, &Call{Method: methodToolsCall, Now: exampleTime})
	if a.Surface != SurfaceResult {
		return nil, nil, false
	}
	written = a.Record.WithViolations(e.Violations...)
	var members memberList
	for _, m := range membersOf(a.Result) {
		if m.name != "_meta" {
			members = append(members, m)
		}
	}
	reader := Reader{Contracts: []*Contract{c}, Weak: c, Trusted: true}
	if reading, ok := reader.Result(members.appendTo(nil)); ok && reading.Error() != nil {
		return written, reading.Error(), true
	}
	return written, recourse.New(recourse.KindUnknown, ""), true
}

// lostBetween returns the widest parts of a record that another does not have.
func lostBetween(before, after *recourse.Error) []string {
	same := map[string]string{}
	for _, l := range leavesOf(after) {
		same[l.path] = l.value
	}
	tree := lossTree{}
	for _, l := range leavesOf(before) {
		tree.add(strings.Split(l.path, "."), same[l.path] == l.value)
	}
	return tree.paths("")
}

// A leaf is a value of the record's JSON form that is no object and no list.
type leaf struct{ path, value string }

func leavesOf(e *recourse.Error) []leaf {
	raw, err := e.MarshalJSON()
	if err != nil {
		return nil
	}
	var list []leaf
	var walk func(path string, raw []byte)
	walk = func(path string, raw []byte) {
		below := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
		if members := membersOf(raw); members != nil {
			for _, m := range members {
				walk(below(m.name), m.value)
			}
			return
		}
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) == nil && items != nil {
			for i, item := range items {
				walk(below(strconv.Itoa(i)), item)
			}
			return
		}
		list = append(list, leaf{path, string(raw)})
	}
	walk("", raw)
	return list
}

// A lossTree tells for each part of a record how many of its leaves survived.
type lossTree struct {
	names []string // in order
	below map[string]*lossTree
	kept  int
}

func (t *lossTree) add(path []string, survived bool) {
	if survived {
		t.kept++
	}
	if len(path) == 0 {
		return
	}
	next, ok := t.below[path[0]]
	if !ok {
		if t.below == nil {
			t.below = map[string]*lossTree{}
		}
		next = &lossTree{}
		t.below[path[0]] = next
		t.names = append(t.names, path[0])
	}
	next.add(path[1:], survived)
}

// paths returns the widest parts of which nothing is left.
func (t *lossTree) paths(at string) []string {
	var list []string
	for _, name := range t.names {
		next := t.below[name]
		path := at + "." + name
		if i, err := strconv.Atoi(name); err == nil {
			path = at + "[]"
			if i > 0 && next.kept == 0 {
				path = at + "[1:]"
			}
		}
		path = strings.TrimPrefix(path, ".")
		lost := next.paths(path)
		if next.kept == 0 {
			lost = []string{path}
		}
		for _, p := range lost {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// everything returns a record of that kind with every member set.
func everything(kind recourse.Kind) *recourse.Error {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	item := func(id string) recourse.Failed {
		return recourse.Failed{ID: id, Error: recourse.Timeout("the provider", 0).WithHint("Try again later.").
			WithOrigin(recourse.OriginProvider).WithRetryAfter(3 * time.Second)}
	}
	e := recourse.New(kind, "A sentence about what happened.").
		WithHint("What to do first.").WithHint("What to do then.").
		WithRetryAfter(12*time.Second).WithEffect(recourse.EffectNone).
		WithVerify(recourse.Verify{Tool: "item_get", Args: recourse.Args{}.With("id", "A-17"), LookAt: "state"}).
		WithViolations(
			recourse.Violation{
				Pointer: "/range/from", Param: "range.from", Rule: "format", Got: raw(`"soon"`), Want: "a date", Message: "must be a date",
			},
			recourse.Violation{
				Pointer: "/limit", Param: "limit", Rule: "maximum", Got: raw(`500`), Want: "at most 100", Message: "must be at most 100",
			}).
		WithResource("item", "A-17").WithProvider("the provider").WithOrigin(recourse.OriginProvider).
		WithUpstream(recourse.Upstream{Code: "teapot", RequestID: "up-1"}).WithRequestID("req-1").
		WithDetail("note", "anything else")
	e.MissingScopes = []string{"read", "write"}
	e.Quotas = []recourse.Quota{
		{Policy: "minute", Limit: 100, Window: time.Minute, ResetAt: exampleTime().Add(12 * time.Second), Partition: "org-1"},
		{Policy: "month", Limit: 17000, Window: 30 * 24 * time.Hour, Remaining: 4200, ResetAt: exampleTime().Add(72 * time.Hour)},
	}
	e.Succeeded = []recourse.Succeeded{{ID: "a", Value: raw(`{"done":true}`)}, {ID: "b", Value: raw(`{"done":true}`)}}
	e.Failed = []recourse.Failed{item("c"), item("d")}
	e.Missing = []recourse.MissingData{
		{What: "yield", Impact: "required", Message: "There is no yield data."},
		{What: "soil", Impact: "optional", Message: "There is no soil data."},
	}
	return e
}

// exampleTime is the present of examples.
func exampleTime() time.Time { return time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC) }
