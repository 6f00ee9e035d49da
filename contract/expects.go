package contract

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// expectations reads what a success of a tool looks like.
func (k *compiler) expectations(files []contractform.ExpectFile) (list []contractform.Expectation) {
	for _, f := range files {
		x := contractform.Expectation{Path: f.Path, NotEmptyFor: f.NotEmptyFor, Equals: f.Equals}
		for _, key := range []string{"path", "not_empty_for", "equals"} {
			if n := f.Node.Get(key); n != nil && !strings.HasPrefix(n.Text(), "/") {
				k.Mistakef(n, "write a JSON Pointer, such as /order/id", "%q is no JSON Pointer", n.Text())
			}
		}
		same := func(other contractform.Expectation) bool {
			return other.Path == x.Path && (other.Equals != "") != (x.Equals != "")
		}
		switch {
		case x.NotEmptyFor != "" && x.Equals != "":
			k.Mistakef(f.Node, "a list is never an argument that names one thing: give its items' path, such as /orders/*/id",
				"give either `not_empty_for` or `equals`")
		case slices.Contains(list, x):
			k.Mistakef(f.Node, "remove one of them", "this is expected twice")
		case slices.ContainsFunc(list, func(o contractform.Expectation) bool { return same(o) && o.NotEmptyFor+x.NotEmptyFor != "" }):
			k.Mistakef(f.Node, "correct one of the paths", "%s cannot be a list and equal an argument", x.Path)
		}
		list = append(list, x)
	}
	return list
}

// lintExpectations reports expectations about tools and arguments that a server does not have.
func (k *compiler) lintExpectations(live *liveTools) {
	for _, entry := range k.file.Expects {
		tool := live.byName[entry.Key]
		for _, f := range entry.Value {
			if tool == nil {
				k.Mistakef(f.Node, live.hint(entry.Key), "the server has no tool %s", entry.Key)
				break
			}
			for _, key := range []string{"not_empty_for", "equals"} {
				n := f.Node.Get(key)
				if param := firstToken(n.Text()); n != nil && !tool.has(param) {
					k.Mistakef(n, language.Suggest(param, tool.params), "%s has no parameter %s", entry.Key, param)
				}
			}
		}
	}
}

// Unmet returns the failure of a call whose answer says success and does not look like what the contract expects of a success;
// nil: it does. result is the tool's result, and title what the server is called. Only Tool and Arguments of call are used.
func (c *Contract) Unmet(call *Call, title string, result []byte) *recourse.Error {
	return contractform.Unmet(c.expects[call.Tool], title, result, json.Value(call.Arguments))
}
