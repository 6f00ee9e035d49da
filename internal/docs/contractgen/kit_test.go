package contractgen_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The files of a case.
const (
	kitInput  = "input.json"
	kitResult = "result.json"
	kitError  = "error.json"
	kitHTTP   = "http.txt"
	kitRead   = "read.json"
)

// A kitInputFile has the record and the call of a case of writing.
type kitInputFile struct {
	Record   json.Value `json:"record,omitzero"`
	Question json.Value `json:"question,omitzero"`
	Call     kitCall    `json:"call"`
}

// A kitCall is the part of contract.Call that cases set.
type kitCall struct {
	Method         string      `json:"method,omitzero"`
	Tool           string      `json:"tool,omitzero"`
	URL            string      `json:"url,omitzero"`
	Arguments      json.Value  `json:"arguments,omitzero"`
	At             contract.At `json:"at,omitzero"`
	Status         int         `json:"status,omitzero"`
	HTTP           bool        `json:"http,omitzero"`
	OutputSchema   bool        `json:"outputSchema,omitzero"`
	FormatArgument bool        `json:"formatArgument,omitzero"`
	ResultType     bool        `json:"resultType,omitzero"`
	Tools          []string    `json:"tools,omitzero"`
}

func (k kitCall) call() *contract.Call {
	call := &contract.Call{
		Method: k.Method, Tool: k.Tool, URL: k.URL, Arguments: []byte(k.Arguments), At: k.At, Status: k.Status, HTTP: k.HTTP,
		OutputSchema: k.OutputSchema, FormatArgument: k.FormatArgument, ResultType: k.ResultType, Now: contracttest.Present,
	}
	if k.Tools != nil {
		call.HasTool = func(name string) bool { return slices.Contains(k.Tools, name) }
	}
	return call
}

// Each built-in contract's golden kit is in contract/testdata: what it writes and how that is read, byte for byte.
func TestKit(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			contracttest.Golden(t, filepath.Join("..", "..", "..", "contract", "testdata", "kit", c.Name+".txtar"), string(kitOf(t, c)))
		})
	}
}

// kitOf returns the golden kit of a contract: what it writes and how it is read, byte for byte. Other implementations
// must do the same. contract/testdata/kit/README.md describes its files.
func kitOf(t *testing.T, c *contract.Contract) []byte {
	t.Helper()
	k := &kit{t: t, c: c, answers: map[string]bool{}, codes: map[written]bool{}}
	k.kinds()
	k.places()
	for _, v := range slices.Concat(kitVariations, kitVariationsOf[c.Name]) {
		k.write(v.name, kitInputFile{Record: json.Value(v.record), Call: kitCallOf(t, v.call)})
	}
	k.formats()
	k.named()
	k.questions()
	for _, r := range slices.Concat(kitReadings, kitReadingsOf[c.Name]) {
		k.answer("read/"+r.name, r.file, []byte(r.answer))
	}
	k.archive.Comment = fmt.Appendf(nil, "form 1, contract %s\n", c.Name)
	return txtar.Format(&k.archive)
}

// A written is a code, and whether it was written as an HTTP answer.
type written struct {
	code string
	http bool
}

// A kit collects the cases of one contract.
type kit struct {
	t       *testing.T
	c       *contract.Contract
	archive txtar.Archive
	answers map[string]bool // the answers so far, so that none is added twice
	codes   map[written]bool
}

// add adds a file of a case.
func (k *kit) add(name, file string, data []byte) {
	if bytes.ContainsAny(data, "\r") || bytes.Contains(data, []byte("\n-- ")) {
		k.t.Fatalf("%s/%s cannot stand in an archive: %q", name, file, data)
	}
	k.archive.Files = append(k.archive.Files, txtar.File{Name: name + "/" + file, Data: append(bytes.Clone(data), '\n')})
}

// kinds writes a failure of each kind on each surface; an answer that another surface already has is not added again.
func (k *kit) kinds() {
	inClass := map[recourse.Class]bool{}
	for _, kind := range recourse.Kinds() {
		tool := kitCall{Method: "tools/call", Tool: "get_field", URL: "https://example.com/mcp"}
		whole, arguments, rpc, refused := tool, tool, kitCall{Method: "prompts/get"}, kitCall{Status: 400}
		whole.HTTP, arguments.At = true, contract.AtArguments
		own, theirs := k.full(kind, recourse.OriginGateway), k.full(kind, recourse.OriginServer)
		k.writeNew(string(kind)+"/result", string(kind), kitInputFile{Record: own, Call: tool})
		k.writeNew(string(kind)+"/server", string(kind), kitInputFile{Record: theirs, Call: tool})
		k.writeNew(string(kind)+"/http", string(kind), kitInputFile{Record: own, Call: whole})
		if kind.Class() == recourse.ClassInput {
			k.writeNew(string(kind)+"/arguments", string(kind), kitInputFile{Record: own, Call: arguments})
		}
		if !inClass[kind.Class()] { // one kind per class: the form is the same for all contracts, and the code follows from the kind
			inClass[kind.Class()] = true
			k.writeNew(string(kind)+"/rpc", string(kind), kitInputFile{Record: own, Call: rpc})
			k.writeNew(string(kind)+"/refused", string(kind), kitInputFile{Record: own, Call: refused})
		}
	}
	k.write("unknown_session/ended", kitInputFile{Record: k.full(recourse.KindUnknownSession, recourse.OriginGateway), Call: kitCall{Status: http.StatusNotFound}})
}

// places are the points before the tool runs at which a call can fail.
var places = []contract.At{
	contract.AtCredentialsMissing, contract.AtCredentialsInvalid, contract.AtUserMissing, contract.AtUserInvalid,
	contract.AtSession, contract.AtUpstreamMisconfigured, contract.AtUpstream,
}

// places writes the failures before the tool runs for which the contract has an HTTP answer.
func (k *kit) places() {
	for _, place := range places {
		for _, kind := range recourse.Kinds() {
			input := kitInputFile{Record: k.full(kind, recourse.OriginGateway), Call: kitCall{
				Method: "tools/call", Tool: "get_field", URL: "https://example.com/mcp", At: place, HTTP: true,
			}}
			if a := k.c.Write(k.record(input.Record), input.Call.call()); a.Surface == contract.SurfaceHTTP {
				k.writeNew("at/"+string(place)+"/"+string(kind), "", input)
			}
		}
	}
}

// named writes each code that is only used if an author names it, as an HTTP answer if it is one.
func (k *kit) named() {
	for _, listed := range contractform.Of(k.c).Codes {
		form := written{listed.Code, listed.HTTP != nil}
		if listed.Open || k.codes[form] {
			continue
		}
		e := contracttest.Record(listed.Kind).WithCode(k.c.Name, listed.Code)
		k.write("named/"+listed.Code, kitInputFile{Record: recordText(k.t, e), Call: kitCall{Method: "tools/call", Tool: "get_field", HTTP: form.http}})
		if !k.codes[form] {
			k.t.Errorf("no case writes %s", listed.Code)
		}
	}
}

// formats writes a failure in each format that a call can ask for.
func (k *kit) formats() {
	if k.c.FormatArgument() == "" {
		return
	}
	for _, f := range kitFormats {
		k.write("format/"+f.name, kitInputFile{Record: k.full(recourse.KindNotFound, recourse.OriginServer), Call: formatCall(f.arguments)})
	}
	k.write("format/not asked for", kitInputFile{Record: k.full(recourse.KindNotFound, recourse.OriginServer), Call: kitCall{
		Method: "tools/call", Tool: "get_field", Arguments: json.Value(`{"format":"json"}`),
	}})
}

func formatCall(arguments string) kitCall {
	return kitCall{Method: "tools/call", Tool: "get_field", Arguments: json.Value(arguments), FormatArgument: true}
}

func (k *kit) questions() {
	for _, q := range kitQuestions {
		k.write("question/"+q.name, kitInputFile{Question: json.Value(q.record), Call: kitCallOf(k.t, q.call)})
	}
	if k.c.FormatArgument() == "" {
		return
	}
	for _, f := range kitFormats {
		k.write("question/format/"+f.name, kitInputFile{Question: json.Value(kitQuestions[0].record), Call: formatCall(f.arguments)})
	}
}

// full returns the JSON form of a record with every member for the kind.
func (k *kit) full(kind recourse.Kind, origin recourse.Origin) json.Value {
	return recordText(k.t, contracttest.Record(kind).WithOrigin(origin))
}

// recordText returns the JSON form of a record as an author states it: without the retry that follows from the kind.
func recordText(t *testing.T, e *recourse.Error) json.Value {
	t.Helper()
	return without(t, contracttest.Marshal(t, e), "retry")
}

// without returns an object without one of its members.
func without(t *testing.T, object []byte, name string) json.Value {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	rest := []byte{'{'}
	for d.PeekKind() != '}' {
		member, err := d.ReadToken()
		if err != nil {
			t.Fatalf("%v: %s", err, object)
		}
		key := member.String()
		value, err := d.ReadValue()
		if err != nil {
			t.Fatalf("%v: %s", err, object)
		}
		if key == name {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(json.AppendQuote(rest, key), ':'), value...)
	}
	return append(rest, '}')
}

// record reads the record of an input, as an implementation would.
func (k *kit) record(raw json.Value) *recourse.Error {
	e := new(recourse.Error)
	if err := e.UnmarshalJSON(raw); err != nil {
		k.t.Fatalf("%v: %s", err, raw)
	}
	return e
}

// writeNew adds a case unless another one in its group has the same answer.
func (k *kit) writeNew(name, group string, input kitInputFile) {
	form := group + show(k.t, k.c.Write(k.record(input.Record), input.Call.call()))
	if !k.answers[form] {
		k.answers[form] = true
		k.write(name, input)
	}
}

// show returns an answer without the record in _meta, for comparison.
func show(t *testing.T, a contract.Answer) string {
	t.Helper()
	return fmt.Sprintf("%d %s", a.Status, contracttest.Wire(contracttest.WithoutMeta(t, a)))
}

// write adds a case of writing.
func (k *kit) write(name string, input kitInputFile) {
	k.t.Helper()
	k.add(name, kitInput, contracttest.Marshal(k.t, input))
	if input.Question != nil {
		question := new(recourse.NeedsInput)
		if err := json.Unmarshal(input.Question, question); err != nil {
			k.t.Fatalf("%v: %s", err, input.Question)
		}
		k.sent(name, k.c.Ask(question, input.Call.call()))
		return
	}
	a := k.c.Write(k.record(input.Record), input.Call.call())
	k.codes[written{a.Record.Code, a.Surface == contract.SurfaceHTTP}] = true
	k.sent(name, a)
	if a.Surface == contract.SurfaceResult { // nothing is lost, thanks to the record in _meta
		if diff := cmp.Diff(string(contracttest.Marshal(k.t, a.Record)), string(contracttest.Marshal(k.t, contracttest.ReadBack(k.t, k.c, a)))); diff != "" {
			k.t.Errorf("%s: read from _meta (-want +got):\n%s", name, diff)
		}
	}
}

// sent adds an answer as sent.
func (k *kit) sent(name string, a contract.Answer) {
	switch a.Surface {
	case contract.SurfaceResult:
		k.answer(name, kitResult, a.Result)
	case contract.SurfaceRPC:
		k.answer(name, kitError, contracttest.RPCText(a))
	case contract.SurfaceHTTP:
		var b bytes.Buffer
		fmt.Fprintf(&b, "%d\n", a.Status)
		if err := a.Header.Write(&b); err != nil {
			k.t.Fatal(err)
		}
		b.WriteByte('\n')
		b.Write(a.Body)
		k.answer(name, kitHTTP, bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n")))
	}
}

// answer adds an answer, and the failure that a client reads from it that knows the contract but not the record in
// _meta.
func (k *kit) answer(name, file string, raw []byte) {
	k.t.Helper()
	k.add(name, file, raw)
	r := contract.Reader{Contracts: []*contract.Contract{k.c}, Weak: k.c, Trusted: true, ContractsOnly: true}
	var reading contract.Reading
	switch file {
	case kitResult:
		reading, _ = r.Result(without(k.t, raw, "_meta"))
	case kitError:
		reading = r.RPC(raw)
	case kitHTTP:
		reading = r.HTTP(httpParts(k.t, raw))
	}
	var read struct {
		Record   json.Value `json:"record,omitzero"`
		Question json.Value `json:"question,omitzero"`
	}
	switch failure := reading.Failure.(type) {
	case *recourse.Error:
		read.Record = contracttest.Marshal(k.t, failure)
	case *recourse.NeedsInput:
		read.Question = contracttest.Marshal(k.t, failure)
	}
	k.add(name, kitRead, contracttest.Marshal(k.t, read))
}

// httpParts parses an HTTP answer of the kit.
func httpParts(t *testing.T, raw []byte) (int, http.Header, []byte) {
	t.Helper()
	head, body, _ := strings.Cut(string(raw), "\n\n")
	lines := strings.Split(head, "\n")
	status, err := strconv.Atoi(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return status, h, []byte(body)
}

func kitCallOf(t *testing.T, raw string) kitCall {
	t.Helper()
	call := kitCall{Method: "tools/call", Tool: "get_field", URL: "https://example.com/mcp"}
	if raw == "" {
		return call
	}
	if err := json.UnmarshalKnown([]byte(raw), &call); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return call
}
