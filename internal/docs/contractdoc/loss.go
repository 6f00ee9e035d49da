package contractdoc

import (
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Lost is a member of the record that a contract's own form does not carry. A client that ignores the record in _meta
// does not get it.
type Lost struct {
	// Path names the member, such as provider or violations[].pointer. If only the first item of a list is carried, it
	// is hints[1:].
	Path string
	// Kinds are the kinds that lose it; nil: all of them.
	Kinds []recourse.Kind
}

// member returns the top-level member of the record.
func (l Lost) member() string {
	name, _, _ := strings.Cut(l.Path, ".")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// Loss returns what the contract does not carry in a tool result: it writes a record with every member set, reads it
// back without _meta, and compares the two. The members are in the order of the record's JSON form.
func Loss(c *contract.Contract) []Lost {
	return lossOfKinds(func(kind recourse.Kind) ([]string, bool) {
		whole, read, ok := carry(c, contractform.Everything(kind))
		if !ok {
			return nil, false
		}
		return lostBetween(whole, read), true
	})
}

// lossOfKinds collects what each kind loses; of reports false for a kind that does not count.
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
	order = contractform.RecordOrder()
	slices.SortStableFunc(list, func(a, b Lost) int {
		return slices.Index(order, a.member()) - slices.Index(order, b.member())
	})
	return list
}

// carry writes e as a tool result and reads that back without _meta. It returns what was
// written, including values that a contract may withhold, and what was read; ok is false
// for a failure that is not a tool result.
func carry(c *contract.Contract, e *recourse.Error) (written, read *recourse.Error, ok bool) {
	a := c.Write(e, &contract.Call{Method: methodToolsCall, Now: contractform.ExampleTime})
	if a.Surface != contract.SurfaceResult {
		return nil, nil, false
	}
	written = a.Record.WithViolations(e.Violations...)
	var members json.Members
	for _, m := range json.MembersOf(a.Result) {
		if m.Name != "_meta" {
			members = append(members, m)
		}
	}
	reader := contract.NewReader(c)
	reader.Trusted = true
	if reading, ok := reader.Result(members.AppendTo(nil)); ok && reading.Error() != nil {
		read = reading.Error()
		if strings.HasPrefix(read.Message, written.Message) { // what follows it is advice
			read = read.WithMessage("%s", written.Message)
		}
		return written, read, true
	}
	return written, recourse.New(recourse.KindUnknown, ""), true
}

// lostBetween returns the largest parts of a record that another does not have.
func lostBetween(before, after *recourse.Error) []string {
	same := map[string]string{}
	for _, l := range contractform.Leaves(after) {
		same[l.Path] = l.Value
	}
	tree := lossTree{}
	for _, l := range contractform.Leaves(before) {
		tree.add(strings.Split(l.Path, "."), same[l.Path] == l.Value)
	}
	return tree.paths("")
}

// A lossTree counts for each part of a record how many of its leaves survived.
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

// paths returns the largest parts of which nothing is left.
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
