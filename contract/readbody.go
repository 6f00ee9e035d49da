package contract

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A service that is not an MCP server has no tool results, but may well tell of its failures in the form of a contract: in
// the body of an HTTP answer whose status is the sign of failure. Such a body is read as the tool result that it would be
// behind an MCP server, by the contract that the service is expected to follow. What the body says counts more than the
// status, as in the contracts' own documents; the status says whether the call was refused.

// wrappers are members of a body in which frameworks put what a handler raises; "" is the body itself.
var wrappers = []string{"", "error", "detail"}

// inBodyForm reads the body of an HTTP answer in the form of a contract that the server is expected to follow; said is what
// the rest of the answer says.
func (r *Reader) inBodyForm(said *recourse.Error, header http.Header, body []byte) (Reading, bool) {
	body = bytes.TrimSpace(body)
	if media, _, _ := mime.ParseMediaType(header.Get("Content-Type")); len(body) == 0 || strings.HasSuffix(media, "html") {
		return Reading{}, false
	}
	if _, isRPC := rpcError(body); isRPC { // which has forms of its own
		return Reading{}, false
	}
	by := *r
	by.status = said.Upstream.Status
	if result := resultIn(body); result != nil {
		reading, _ := by.result(result) // it is marked as a failure
		return by.asResult(reading, said, result), reading.Error() != nil
	}
	for _, c := range r.Contracts {
		if !r.expects(c) {
			continue
		}
		if record, ok := recordIn(json.NodeOf(body)); ok && record.Contract == c.Name {
			return by.asResult(r.record(record), said, nil), true
		}
		for _, result := range c.resultsIn(body) {
			reading, ok := by.form(c, by.answerIn(result), true)
			switch {
			case !ok:
			case !reading.foreign:
				return by.asResult(reading, said, result), true
			case c.tellsMore(reading.Error()):
				wild.AddObject(reading.Error(), r.spelled(json.NodeOf(body), longWait))
				return by.asResult(reading, said, result), true
			}
		}
	}
	return Reading{}, false
}

// inSentence reads an object in no form of its own whose sentence is a text in the form of such a contract. What stands beside
// it is kept in the details.
func (r *Reader) inSentence(said *recourse.Error, body []byte) (Reading, bool) {
	object := json.NodeOf(body)
	if !object.IsObject() || object.Member("jsonrpc") != nil {
		return Reading{}, false
	}
	by := *r
	by.status = said.Upstream.Status
	sentence := wild.AddObject(new(recourse.Error), object)
	for _, c := range r.Contracts {
		if !r.expects(c) || sentence == "" {
			continue
		}
		reading, ok := by.form(c, &evidence{text: sentence, sure: true}, true)
		if e := reading.Error(); ok && e != nil {
			by.addBeside(e, object, sentence)
			return by.asResult(reading, said, nil), true
		}
	}
	return Reading{}, false
}

// addBeside adds to e what an object says beside its sentence.
func (r *Reader) addBeside(e *recourse.Error, object *json.Node, sentence string) {
	own := *e
	wild.AddObject(e, r.spelled(object, longWait))
	e.Kind, e.Effect, e.Upstream.Code = own.Kind, own.Effect, cmp.Or(own.Upstream.Code, e.Upstream.Code)
	for _, m := range json.MembersOf(object.Raw) {
		if text, ok := json.TextOf(m.Value); !ok || !strings.Contains(sentence, text) {
			keepDetail(e, m.Name, m.Value)
		}
	}
}

// tellsMore reports whether a record that was read in a form that c only reads says more than the status of its answer.
func (c *Contract) tellsMore(e *recourse.Error) bool {
	_, listed := c.byCode[e.Code]
	return e.Message != "" && (e.Code == "" || listed || c.layout.shape != nil && c.layout.shape.marked() || c.mayPass(e.Code))
}

// asResult completes a reading with what the rest of an HTTP answer says. result is the tool result that the body stands for.
func (r *Reader) asResult(reading Reading, said *recourse.Error, result json.Value) Reading {
	e := reading.Error()
	if e == nil { // a question
		return reading
	}
	if e.Code == "" && e.Kind == recourse.KindServerError { // in a form that only says that something failed
		e.Kind = said.Kind
	}
	reading.Failure = withHTTP(e, said)
	reading.Sign = fmt.Sprintf("HTTP status %d, %s", r.status, reading.Sign)
	reading.Original, reading.OriginalAt = stdjson.RawMessage(result), SurfaceResult
	return reading
}

// answerIn returns the parts of a tool result that can show a failure.
func (r *Reader) answerIn(result json.Value) *evidence {
	var head resultHead
	readEach(result, &head)
	a := &evidence{sure: true}
	r.readTexts(a, head.Content)
	if a.whole != nil { // which is among the objects: its words are not a text of their own
		a.text = ""
	}
	a.objects = append(a.objects, json.NodeOf(head.Structured), json.NodeOf(head.Error))
	return a
}

// resultIn returns a body that is a whole tool result, or a JSON-RPC answer with one, marked as a failure; nil: it is neither.
func resultIn(body json.Value) json.Value {
	object := json.NodeOf(body)
	if inner := object.Member("result"); inner != nil && object.Member("jsonrpc") != nil {
		object = inner
	} else if object.RawMember("content").Kind() != '[' {
		return nil
	}
	return json.Edit(object.Raw, func(name string, value json.Value) json.Value {
		if name == memberIsError {
			return json.Value("true")
		}
		return value
	}, json.Members{{Name: memberIsError, Value: json.Value("true")}})
}

// resultsIn returns the tool results that a body may stand for in the form of c, the most likely first.
func (c *Contract) resultsIn(body json.Value) (results []json.Value) {
	object := json.NodeOf(body)
	if !object.IsObject() {
		if text, ok := json.TextOf(body); ok {
			return []json.Value{resultOf(text)}
		}
		return []json.Value{resultOf(string(body))}
	}
	results = append(results, resultOf(string(body)))
	for _, name := range wrappers {
		inner := object
		if name != "" {
			inner = json.NodeOf(object.RawMember(name))
		}
		if own := c.layout.shape.marking(inner); own != nil && c.mayBe(inner) {
			results = append(results, resultOf(string(withOthers(own, object, name))))
		}
	}
	return results
}

// resultOf returns a tool result that fails with a text.
func resultOf(text string) json.Value {
	return append(json.AppendQuote([]byte(`{"content":[{"type":"text","text":`), text), `}],"isError":true}`...)
}

// mayBe reports whether an object without the contract's marks is plainly its: it has a sentence, and a code that the contract
// lists, or the boolean that says whether to repeat the call.
func (c *Contract) mayBe(object *json.Node) bool {
	sh := c.layout.shape
	if sh.fits(object) {
		return true
	}
	code := sh.codeIn(object)
	_, told := c.byCode[code]
	sentence := false
	for i := range sh.members {
		switch m, kind := &sh.members[i], object.RawMember(sh.members[i].name).Kind(); {
		case m.path == nil:
		case m.path.IsSentence():
			sentence = sentence || kind == '"'
		case m.path.IsRetryable():
			told = told || kind == 't' || kind == 'f'
		}
	}
	return code != "" && sentence && told
}

// marking returns the members of an object of sh with the marks that it lacks: an HTTP status says the same. nil: it cannot
// be one.
func (sh *shape) marking(object *json.Node) json.Members {
	if sh == nil || !object.IsObject() {
		return nil
	}
	var members json.Members
	for i := range sh.members {
		if m := &sh.members[i]; m.constant != nil && object.Member(m.name) == nil {
			members.Add(m.name, m.constant)
		}
	}
	return append(members, json.MembersOf(object.Raw)...)
}

// withOthers returns an object with the members that stand beside it in the one that wraps it. If it has something else of
// that name, a number is put behind it.
func withOthers(own json.Members, around *json.Node, wrapper string) json.Value {
	if wrapper != "" {
		for _, m := range json.MembersOf(around.Raw) {
			if m.Name != wrapper {
				own = withOther(own, m)
			}
		}
	}
	return own.AppendTo(nil)
}

func withOther(own json.Members, other json.Member) json.Members {
	value := json.Compact(other.Value)
	free, has := freeName(other.Name, value, func(name string) json.Value {
		if i := slices.IndexFunc(own, func(m json.Member) bool { return m.Name == name }); i >= 0 {
			return json.Compact(own[i].Value)
		}
		return nil
	})
	if has {
		return own
	}
	return append(own, json.Member{Name: free, Value: other.Value})
}
