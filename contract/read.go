package contract

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Reader reads the failures that servers send, in any form.
type Reader struct {
	// Contracts are the known forms, the most likely first. Only the first is considered for an HTTP answer
	// without a body.
	Contracts []*Contract
	// Own is the contract that the server is expected to follow, or nil. A failure that is plainly in its form, by a
	// sure sign, is read by it: with codes that it does not list as well, and in the forms that it only reads.
	Own *Contract
	// Weak is the contract that the server is known to follow, or nil. Its weak signs count: members and
	// texts that say "failed" in an answer that otherwise reports success, and forms that say little by
	// themselves. If Weak is nil, no such sign counts, since a tool may rightly answer {"success":false}.
	Weak *Contract
	// Upstream is the contract whose `upstream` describes the HTTP answers, if they are those of a service that is
	// not an MCP server; nil: they are not.
	Upstream *Contract
	// Trusted says that the server is believed about who failed, whether anything was changed, and what to do
	// next.
	Trusted bool
	// Provider is the display name of the server, for the sentences of failures.
	Provider string
	// Families are the families in the server's entry: the user's own, which take precedence over the
	// built-in ones, and any whose weak forms count as weak signs. The built-in families are always known.
	Families []*Family
	// ContractsOnly turns the families off: a failure in no contract's form then has no kind, as in the
	// clients generated from a contract.
	ContractsOnly bool
	// Now is the clock used to turn a point in time into a wait; nil means time.Now.
	Now func() time.Time
	// Cut is the size, such as 4MiB, at which the input was cut off and completed to valid JSON; the failure
	// then says so. Empty means that it is complete.
	Cut string

	status int // of the HTTP answer in which the failure stands, unless that says another one
}

// NewReader returns a Reader for a server that follows a contract.
func NewReader(c *Contract) *Reader {
	return &Reader{Contracts: []*Contract{c}, Weak: c}
}

// Reading is a failure that was read. If there was none, it is the zero value.
type Reading struct {
	// Failure is an *recourse.Error or a *recourse.NeedsInput.
	Failure recourse.Failure
	// Contract is the contract whose form it had, or nil.
	Contract *Contract
	// Sign tells a person by which sign it was recognised.
	Sign string
	// Original and OriginalAt are for [Relay]: what the body of an HTTP answer says in the form of Contract, or nil.
	Original   stdjson.RawMessage
	OriginalAt Surface

	foreign bool // it has a form that Contract only reads
}

// Error returns the record, or nil for a question.
func (r Reading) Error() *recourse.Error {
	e, _ := r.Failure.(*recourse.Error)
	return e
}

// Result reads the member "result" of a JSON-RPC response; ok is false if it is not a failure.
func (r *Reader) Result(result []byte) (reading Reading, ok bool) {
	if reading, ok = r.result(result); ok {
		reading = r.applyTrust(r.noteCut(splitViolations(reading)), false)
	}
	return reading, ok
}

func (r *Reader) result(result json.Value) (reading Reading, ok bool) {
	head := headOf(result)
	record, recorded := readRecord(head.Meta[recourse.MetaKey])
	failed := json.NodeOf(head.Error)
	a := evidence{failed: failed, sure: head.IsError || isErrorObject(failed)}
	if recorded && r.Cut != "" { // every SDK writes isError last
		a.sure = true
	}
	if recorded && a.sure && !record.Truncated() {
		return r.record(record), true
	}
	r.lookInto(&a, &head)
	for _, object := range a.objects {
		switch markOf(object) {
		case needsInputKind:
			return Reading{Failure: readNeedsInput(object.Raw), Sign: "kind " + needsInputKind}, true
		case toolErrorKind:
			a.sure = true
		}
	}
	switch {
	case a.sure && recorded:
		return r.whole(record, a), true
	case a.sure:
		return r.failed(a), true
	case r.Weak != nil:
		if reading, ok = r.form(r.Weak, &a, false); !ok {
			break
		}
		sign := reading.Sign
		switch { // the record says more than the form in which it travels
		case recorded && record.Truncated():
			reading = r.merged(record, reading)
		case recorded:
			reading = r.record(record)
		}
		reading.Sign = weakSign + sign
		return reading, true
	}
	reading, of := r.weakly(r.families(), a)
	return reading, of != nil
}

// failed reads an answer that has a sure sign of failure.
func (r *Reader) failed(a evidence) Reading {
	layers := r.peeled(a)
	if reading, ok := r.inForm(layers); ok {
		return reading
	}
	inner := last(layers)
	if inner.wrapped {
		inner.objects = append(inner.objects, a.objects...)
	}
	inner.objects = slices.Clone(inner.objects)
	for i, object := range inner.objects {
		inner.objects[i] = r.spelled(object, longWait)
	}
	e, sign, ok := r.recognized(inner)
	for _, object := range inner.objects {
		if ok {
			break
		}
		e, ok = wild.ReadObject(object)
		sign = "error object"
	}
	if !ok {
		e, ok = wild.ReadStatus(inner.text)
		sign = "status before the text"
	}
	switch {
	case ok:
	case inner.code != "":
		e, _ = r.rpcKind(inner.code, inner.text, json.NodeOf(nil))
		sign = "code " + inner.code
	default:
		e, sign = recourse.New(recourse.KindUnknown, clean.Message(inner.text)), memberIsError
	}
	e.Message = cmp.Or(e.Message, clean.Message(inner.text))
	if e.Upstream.Code == "" {
		e.Upstream.Code = inner.code
	}
	if object := inner.textAsObject(); object != nil && object.IsObject() && e.Message != inner.text {
		if rest := wild.Rest(object, e.Message); rest != "" {
			e.Message += "\n" + rest // the server put it there for the model
		}
	}
	keepOthers(e, a.failed)
	if e.Kind == recourse.KindUnknown && e.Retry == "" {
		e.Retry = recourse.RetryReRead // the call might succeed next time: the sentence has to be read
	}
	return r.plain(e, sign)
}

// keepOthers keeps what the member error of a result has besides its code and its sentence: another one may be written in
// its place.
func keepOthers(e *recourse.Error, failed *json.Node) {
	if !isErrorObject(failed) {
		return
	}
	names, values := failed.Parts()
	for i, name := range names {
		switch name {
		case "code", string(language.Message), string(language.Retryable): // told
		default:
			keepDetail(e, name, values[i].Raw)
		}
	}
}

func last[T any](list []T) T { return list[len(list)-1] }

// recognized reads an answer in the forms of SDKs and of the families. The caller may change its record.
func (r *Reader) recognized(a evidence) (e *recourse.Error, sign string, ok bool) {
	if e, sign, ok = wild.Detect(a.text); ok {
		return e, sign, true
	}
	return r.wild(a)
}

// inForm reads an answer as a record, or one of its layers in the form of a known contract.
func (r *Reader) inForm(layers []evidence) (Reading, bool) {
	for i := range layers {
		for _, object := range layers[i].objects {
			if e, ok := recordIn(object); ok {
				return r.record(e), true
			}
		}
	}
	if thrown, ok := r.thrown(last(layers)); ok {
		layers = append(slices.Clip(layers), thrown)
	}
	for _, layer := range layers {
		for _, c := range r.Contracts {
			if reading, ok := r.form(c, &layer, r.expects(c)); ok {
				return reading, true
			}
		}
	}
	return Reading{}, false
}

// reThrown is what languages put before the text of an exception, and of one that was thrown for that.
var reThrown = regexp.MustCompile(`^(?:(?:[A-Za-z_]\w*\.)*\w*(?:[Ee]rror|Exception): +){1,4}`)

// thrown returns an answer without the names of exceptions before its text.
func (r *Reader) thrown(a evidence) (inner evidence, ok bool) {
	const longest = 256
	name := reThrown.FindString(a.text[:min(len(a.text), longest)])
	if name == "" {
		return evidence{}, false
	}
	return r.inside(a, strings.TrimSpace(a.text[len(name):])), true
}

// expects reports whether the server is expected to follow c.
func (r *Reader) expects(c *Contract) bool { return c == r.Weak || c == r.Own }

// form reads a in the form of c; open allows codes that c does not list. If the server is expected to follow c,
// that includes forms that c only reads.
func (r *Reader) form(c *Contract, a *evidence, open bool) (Reading, bool) {
	known := c == r.Weak || c == r.Own && a.sure
	for _, object := range a.objects {
		reading, ok := r.draft(c, "JSON", open, func(d *draft) bool { return c.readOtherObject(object, known, d) })
		if ok {
			return reading, true
		}
		if !c.hasObject() {
			continue
		}
		if reading, ok = r.draft(c, "JSON", open, func(d *draft) bool { return c.readObject(object, d) }); ok {
			return reading, true
		}
		if inner := c.layout.within(object); inner != nil {
			reading, ok = r.draft(c, "JSON", open, func(d *draft) bool {
				return c.readObject(inner, d) && d.keepBeside(object, c.layout.result)
			})
			if ok {
				return reading, true
			}
		}
	}
	if a.text == "" {
		return Reading{}, false
	}
	if reading, ok := r.draft(c, "text", open, func(d *draft) bool { return c.readText(a, d) }); ok {
		return reading, true
	}
	if !known || !a.sure {
		return Reading{}, false
	}
	return r.draft(c, "text", open, func(d *draft) bool { return c.readOtherText(a.text, d) })
}

// draft reads with read, and adds what the code implies to the record.
func (r *Reader) draft(c *Contract, what string, open bool, read func(*draft) bool) (Reading, bool) {
	d, _ := drafts.Get().(*draft)
	d.open, d.known, d.cut = open, c == r.Weak, r.Cut != ""
	d.e.Upstream.Status = r.status
	if !read(d) {
		d.drop()
		return Reading{}, false
	}
	if d.e.Contract == c.Name { // it was the record itself
		return r.record(d.e), true
	}
	r.believe(d.e)
	c.complete(d, d.e)
	if d.foreign {
		wild.PlaceFirst(d.e)
		c.specify(d.e)
	}
	if d.e.Origin == "" || d.e.Origin == recourse.OriginGateway && !r.Trusted {
		d.e.Origin = recourse.OriginServer
	}
	if len(d.left) > 0 {
		d.e = leftOut(d.e, d.left...)
	}
	sign := what + " in the form of " + c.Name
	if d.e.Code != "" {
		sign += ", code " + clean.Cut(d.e.Code, clean.MaxCode)
	}
	return Reading{Failure: d.e, Contract: c, Sign: sign, foreign: d.foreign}, true
}

// RPC reads the member "error" of a JSON-RPC response in an answer with HTTP status 200.
func (r *Reader) RPC(raw []byte) Reading {
	reading, _ := r.rpc(raw)
	return r.applyTrust(r.noteCut(splitViolations(reading)), refusedCode(raw))
}

// recordInData is where a gateway puts the record in a JSON-RPC error that already has data.
var recordInData = json.Pointer("").AppendToken(recourse.MetaKey)

// rpc reads a JSON-RPC error; plain says that only its code tells us the kind.
func (r *Reader) rpc(raw json.Value) (reading Reading, plain bool) {
	var head struct {
		Code    json.Value `json:"code"`
		Message json.Value `json:"message"`
		Data    json.Value `json:"data"`
	}
	if err := json.UnmarshalLenient(raw, &head); err != nil || head.Code == nil && head.Message == nil {
		return r.plain(recourse.BadResponse(r.Provider), "JSON-RPC error without code and message"), true
	}
	for _, raw := range []json.Value{json.Lookup(head.Data, recordInData), head.Data} {
		if e, ok := readRecord(raw); ok {
			if supported := json.Lookup(head.Data, "/supported"); e.Kind == recourse.KindUnsupportedVersion && supported != nil {
				e = e.WithDetail("supported", supported) // the protocol requires it
			}
			return r.record(e), false
		}
	}
	code, message := clean.Cut(json.Plain(head.Code), clean.MaxCode), json.Plain(head.Message)
	if rest, ok := strings.CutPrefix(message, "MCP error "+code+": "); ok { // added by the TypeScript SDK when it throws
		message, raw = rest, withMessage(raw, rest)
	}
	data := json.NodeOf(head.Data)
	for _, c := range r.Contracts {
		if reading, ok := r.rpcForm(c, code, message, head.Data); ok {
			return reading, false
		}
		said := evidence{text: message, objects: []*json.Node{data}, sure: true}
		if r.expects(c) && c.ownNumber(code) {
			said.objects = append(said.objects, json.NodeOf(raw))
		}
		if reading, ok := r.form(c, &said, r.expects(c)); ok {
			return r.withData(reading, data), false
		}
	}
	e, plain := r.fromRPC(code, message, data)
	return r.plain(e, "JSON-RPC error "+code), plain
}

// withData adds the data of a JSON-RPC error to what was read from its sentence alone.
func (r *Reader) withData(reading Reading, data *json.Node) Reading {
	e := reading.Error()
	if e == nil || !strings.HasPrefix(reading.Sign, "text ") || !data.IsObject() {
		return reading
	}
	wild.AddObject(e, r.spelled(data, 0))
	if raw, ok := clean.Raw(data.Raw); ok {
		e = e.WithDetail("data", raw)
	}
	reading.Failure = e
	return reading
}

// withMessage returns an object with a different message.
func withMessage(object json.Value, message string) json.Value {
	members := json.MembersOf(object)
	for i := range members {
		if members[i].Name == "message" {
			members[i].Value = json.AppendQuote(nil, message)
		}
	}
	return members.AppendTo(nil)
}

func (r *Reader) rpcForm(c *Contract, code, message string, data json.Value) (Reading, bool) {
	for _, en := range c.codes {
		if en.rpc == nil || strconv.Itoa(en.rpc.code) != code || !en.rpc.says(data) {
			continue
		}
		reading, ok := r.draft(c, "JSON-RPC error", true, func(d *draft) bool {
			if en.rpc.data != nil && !en.rpc.data.read(c, data, d) {
				return false
			}
			if inner := c.byCode[d.e.Code]; inner != en {
				d.as = inner // more specific than the JSON-RPC error around it
			}
			d.e.Code = en.code
			message := withoutAdvice(message, d.e.Hints)
			fits := slices.ContainsFunc(en.rpc.messages, func(t *language.Template) bool {
				return t.Match(message, func(p *language.Path, text string) { p.SetText(d.base(), text) })
			})
			if !fits && (en.rpc.data == nil || !r.expects(c)) {
				return false
			}
			if !fits && d.e.Message == "" { // the data tell the form: the sentence is the server's own
				d.e.Message = clean.Message(message)
			}
			if d.as == nil {
				d.as = c.byRule(d.e, en)
			}
			return true
		})
		if ok {
			return reading, true
		}
	}
	return Reading{}, false
}

// recordSign is how a record is recognised.
const recordSign = "record"

// record uses a record that a server has sent. It changes e.
func (r *Reader) record(e *recourse.Error) Reading {
	r.believe(e)
	if e.Origin == "" && !r.Trusted {
		e.Origin = recourse.OriginServer
	}
	reading := Reading{Failure: e, Sign: recordSign}
	for _, c := range r.Contracts {
		if c.Name == e.Contract {
			reading.Contract = c
		}
	}
	return reading
}

// plain uses a record that was made from an answer in no contract's form. It changes e.
func (r *Reader) plain(e *recourse.Error, sign string) Reading {
	if e.Origin == "" || e.Origin == recourse.OriginProvider {
		e.Origin = recourse.OriginServer
	}
	if e.Provider == "" && e.Kind.Class() == recourse.ClassUpstream {
		e.Provider = r.Provider
	}
	return Reading{Sign: sign, Failure: e}
}

// isErrorObject reports whether n is an object with a code and a message.
func isErrorObject(n *json.Node) bool { return n.Member("code") != nil && n.Member("message") != nil }

// The kinds by which an object is marked as a failure or a question.
const (
	toolErrorKind  = "toolError:v1"
	needsInputKind = "needsInput:v1"
)

// markOf returns the member by which an object may be marked.
func markOf(n *json.Node) string {
	if n.Raw.Kind() != '{' || !bytes.Contains(n.Raw, []byte(":v1")) {
		return ""
	}
	if kind := n.Member("kind"); kind != nil {
		return kind.Plain()
	}
	return ""
}
