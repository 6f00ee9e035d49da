package contract

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
)

// Write writes e for the call. It is total: every record has a form in every contract. e is not changed.
//
// A failure that was read from [Relay.Original] in the form of c is edited, not written anew: it stays as it is spelled,
// but for the boolean, the wait, the advice and the verify call where they are missing or contradict the record, and
// for the record in _meta.
func (c *Contract) Write(e *recourse.Error, call *Call) Answer {
	s := c.bind(e, call)
	if n := s.question(); n != nil {
		answer := c.Ask(n, call)
		answer.Record, answer.Asks = s.e, true
		return answer
	}
	answer := Answer{Status: http.StatusOK}
	result, edited := s.edited()
	switch {
	case edited:
		answer.Result = stdjson.RawMessage(result)
	case s.entry.http != nil && call.HTTP:
		answer.Surface, answer.Status = SurfaceHTTP, s.entry.http.status
		answer.Header, answer.Body = s.entry.http.answer(s)
		if original := call.in(c, SurfaceHTTP); original != nil && s.entry.http.fits(c, original) {
			answer.Body = s.entry.http.body.edit(original, s)
		}
		if call.in(c, SurfaceResult) != nil {
			answer.Body = withSaid(answer.Body, e, s.e.Details)
		}
	case e.Kind == recourse.KindUnknownSession && call.Status == http.StatusNotFound:
		s = s.ofProtocol()
		answer.Surface, answer.Status = SurfaceHTTP, http.StatusNotFound
		answer.Header = http.Header{"Content-Type": {problemType}}
		answer.Body = s.problem()
	case s.entry.rpc != nil:
		answer.Surface, answer.RPCCode = SurfaceRPC, s.entry.rpc.code
		answer.Message, answer.Data = s.entry.rpc.answer(s)
		hints := s.inResult().e.Hints
		answer.Message = withAdvice(answer.Message, hints[:min(len(hints), 1)]) // the data have no more
	case s.becomesResult():
		answer.Result = stdjson.RawMessage(s.result())
	default:
		s = s.ofProtocol()
		answer.Surface, answer.RPCCode, answer.Message = SurfaceRPC, rpccode.Of(e.Kind), withAdvice(s.message(), s.e.Hints)
		answer.Data = stdjson.RawMessage(s.data())
	}
	if answer.Surface == SurfaceRPC && call.Status != 0 {
		answer.Status = call.Status
	}
	answer.Record = s.e
	return answer
}

// withSaid adds to the body of an HTTP answer what the server's tool result has besides: its sentence and its own members.
func withSaid(body []byte, e *recourse.Error, details map[string]stdjson.RawMessage) []byte {
	members := json.MembersOf(body)
	if members == nil {
		return body
	}
	has := func(name string) bool {
		return slices.ContainsFunc(members, func(m json.Member) bool { return m.Name == name })
	}
	if said := clean.Message(e.Sentence()); !has(string(language.Message)) && !strings.Contains(string(body), said) {
		members.Add(string(language.Message), json.AppendQuote(nil, said))
	}
	for _, name := range slices.Sorted(maps.Keys(details)) {
		if !has(name) {
			members.Add(name, json.Value(details[name]))
		}
	}
	return members.AppendTo(nil)
}

// withAdvice returns the message of a JSON-RPC error with the advice: few clients show anything else of it.
func withAdvice(message string, hints []string) string {
	for _, hint := range hints {
		switch {
		case strings.HasSuffix(message, hint):
		case isEnded(message):
			message += " " + hint
		default:
			message += "; " + hint
		}
	}
	return message
}

// withoutAdvice is its inverse.
func withoutAdvice(message string, hints []string) string {
	for _, hint := range slices.Backward(hints) {
		if rest, told := strings.CutSuffix(message, " "+hint); told {
			message = strings.TrimSuffix(rest, ";")
		}
	}
	return message
}

// ofProtocol returns s in our own words if its contract has none for a failure of the protocol: what its fallback says of an
// unexpected failure, such as to contact support, would be wrong.
func (s *subject) ofProtocol() *subject {
	if s.entry != s.c.fallback || s.e.Kind.Class() != recourse.ClassProtocol || s.c.Name == Default {
		return s
	}
	own := *s
	own.e = s.e.With(func(e *recourse.Error) { e.Contract, e.Code, e.Hints = Default, string(e.Kind), nil })
	return &own
}

// becomesResult reports whether the failure is written as a tool result, unless its code has another form.
func (s *subject) becomesResult() bool {
	of := s.call
	return of.Method == methodToolsCall && of.Status == 0 && (of.result() != nil || s.c.asResult(s.e.Kind, of.Protocol))
}

// asResult reports whether a failed tools/call of that kind is a tool result, the only surface whose details
// every client passes on to a model. protocol says that it is an error where the protocol has one.
func (c *Contract) asResult(kind recourse.Kind, protocol bool) bool {
	switch {
	case kind == recourse.KindUnknownTool:
		return c.UnknownTool == unknownToolResult && !protocol
	case protocol:
		return kind.Class() != recourse.ClassProtocol
	default:
		return !rpccode.ForProgram(kind)
	}
}

// resultKinds returns the kinds for which a failed tool call is a tool result.
func (c *Contract) resultKinds() []recourse.Kind {
	return slices.DeleteFunc(recourse.Kinds(), func(kind recourse.Kind) bool { return !c.asResult(kind, false) })
}

// The values of unknown_tool.
const (
	unknownToolRPC    = "rpc"
	unknownToolResult = "result"
)

// methodToolsCall is the JSON-RPC method of a tool call.
const methodToolsCall = "tools/call"

const problemType = "application/problem+json"

// data writes the member data of a JSON-RPC error: the record and, for an HTTP error, the members of a
// problem document beside it (RFC 9457).
func (s *subject) data() json.Value {
	record := s.record()
	if s.call.Status < http.StatusBadRequest {
		return record
	}
	return append(append(record[:len(record)-1:len(record)-1], ','), s.problem()[1:]...)
}

// problem writes a problem document (RFC 9457).
func (s *subject) problem() []byte {
	dst := append([]byte(nil), `{"type":"about:blank","title":`...)
	dst = json.AppendQuote(dst, http.StatusText(s.call.Status))
	dst = fmt.Appendf(dst, `,"status":%d,"detail":`, s.call.Status)
	return append(json.AppendQuote(dst, s.message()), '}')
}

// result writes the tool result.
func (s *subject) result() json.Value {
	l := s.layout()
	form := s.inForm()
	kept := s.call.keep(s.c, s.e)
	record := s.filed(&kept)
	blocks := l.blocks(form)
	blocks[0].more = kept.first
	size := l.sizeOf(blocks, s.record())
	dst := append(make([]byte, 0, size), '{')
	early := l.isError && size > signWithin
	if early {
		dst = append(dst, `"isError":true,`...)
	}
	dst = l.appendBlocks(append(dst, `"content":[`...), blocks)
	for _, b := range kept.blocks {
		dst = append(append(dst, ','), b...)
	}
	dst = append(dst, ']')
	switch {
	case kept.structured != nil:
		dst = append(append(dst, `,"structuredContent":`...), kept.structured...)
	case s.isStructured(l):
		dst = form.appendShape(append(dst, `,"structuredContent":`...))
	}
	if l.result != "" {
		dst = form.appendShape(append(json.AppendQuote(append(dst, ','), l.result), ':'))
	}
	if l.isError && !early {
		dst = append(dst, `,"isError":true`...)
	}
	for _, m := range kept.members {
		dst = append(append(json.AppendQuote(append(dst, ','), m.Name), ':'), m.Value...)
	}
	if s.call.ResultType {
		dst = append(dst, `,"resultType":"complete"`...)
	}
	dst = append(dst, `,"_meta":{`...)
	for _, m := range kept.meta {
		dst = append(append(append(json.AppendQuote(dst, m.Name), ':'), m.Value...), ',')
	}
	dst = append(json.AppendQuote(dst, recourse.MetaKey), ':')
	return append(append(dst, record...), "}}"...)
}

// isStructured reports whether the contract's object also stands in structuredContent. A record does only where that in _meta is cut.
func (s *subject) isStructured(l *layout) bool {
	structured := l.structured || l.record && !bytes.Equal(s.bounded(), s.record())
	return structured && (!s.call.OutputSchema || s.c.ownLayout(s.call.Tool) != nil)
}

// signWithin is the largest size of a result whose isError comes after the content, as in every SDK. In a
// larger one it comes first, within the bytes that are always searched for a sign of failure.
const signWithin = 64 << 10

// sizeOf estimates the size of a result in bytes, so that it is allocated once.
func (l *layout) sizeOf(blocks []block, record []byte) int {
	const frame = 256
	size := frame + len(record)
	if l.structured || l.result != "" { // a shape is about as long as the record
		size += len(record)
	}
	for _, b := range blocks {
		size += len(b.text) + len(b.text)/8 // some of it is escaped
	}
	return size
}

// kept holds what a result has besides the failure that was read from it. It is copied to the result that
// replaces it.
type kept struct {
	first      json.Members // of the first text, besides that
	blocks     []json.Value // content after the first text
	structured json.Value   // the server's own structuredContent, which the record may take
	members    json.Members
	meta       json.Members
}

// keep returns what remains of an original result without the failure: without its first text block, and
// without anything in the form of the contract by which it was read. If e was cut and no form has the rest,
// the first text stays.
func (call *Call) keep(target *Contract, e *recourse.Error) kept {
	var k kept
	all := e.Truncated() && call.Relay.OriginalContract == nil
	for _, m := range json.MembersOf(call.result()) {
		switch m.Name {
		case "content":
			k.first, k.blocks = call.otherBlocks(m.Value, all)
		case "structuredContent":
			if all || !call.isFailure(m.Value, target) {
				k.structured, _ = clean.Raw(m.Value)
			}
		case "_meta":
			for _, m := range json.MembersOf(m.Value) {
				if raw, ok := clean.Raw(m.Value); ok && m.Name != recourse.MetaKey {
					k.meta = append(k.meta, json.Member{Name: m.Name, Value: raw})
				}
			}
		case memberIsError, "resultType", target.layout.result:
		default:
			if raw, ok := clean.Raw(m.Value); ok && (m.Name != "error" || !isErrorObject(json.NodeOf(m.Value))) {
				k.members = append(k.members, json.Member{Name: m.Name, Value: raw})
			}
		}
	}
	return k
}

// filed returns the record that travels in _meta. It takes the server's own structuredContent along, since some programs show a
// model nothing else, and what the server says there knows nothing of the effect and the verify call. What is too long for a
// record stands beside it. In a failure that the server wrote in the form of the contract, the structure stays where it is.
func (s *subject) filed(k *kept) []byte {
	if k.structured == nil || s.call.in(s.c, SurfaceResult) != nil && !s.c.layout.record {
		return s.bounded()
	}
	with := *s
	with.json, with.e = nil, s.e.WithDetail(structuredDetail, stdjson.RawMessage(k.structured))
	record := with.bounded()
	if json.Lookup(record, "/details/"+structuredDetail) == nil {
		k.meta.Add(structuredMeta, k.structured)
		record = s.bounded()
	}
	k.structured = nil
	return record
}

// The detail that has a server's own structuredContent, and the member of _meta where the record has no room for it.
const (
	structuredDetail = "structuredContent"
	structuredMeta   = "io.github.recoursehq/structuredContent"
)

// isFailure reports whether an object of the original repeats the failure.
func (call *Call) isFailure(raw json.Value, target *Contract) bool {
	object := json.NodeOf(raw)
	if _, record := recordIn(object); record {
		return true
	}
	for _, c := range []*Contract{target, call.Relay.OriginalContract} {
		if c != nil && c.readObject(object, newDraft()) {
			return true
		}
	}
	if c := call.Relay.OriginalContract; c != nil && c.readOtherObject(object, true, newDraft()) {
		return true
	}
	return markOf(object) == toolErrorKind
}

// otherBlocks returns the content blocks that do not describe the failure, or all of them, and what the first text has
// besides its text.
func (call *Call) otherBlocks(content json.Value, all bool) (first json.Members, others []json.Value) {
	var blocks []json.Value
	if json.UnmarshalLenient(content, &blocks) != nil {
		return nil, nil
	}
	found := all
	for _, b := range blocks {
		text, ok := textBlock(b)
		if ok && !found {
			found = true
			for _, m := range json.MembersOf(b) {
				if raw, ok := clean.Raw(m.Value); ok && m.Name != "type" && m.Name != "text" && m.Name != "mimeType" {
					first.Add(m.Name, raw)
				}
			}
			continue
		}
		if ok && call.Relay.OriginalContract != nil && call.Relay.OriginalContract.readObject(json.NodeOf(json.Value(text)), newDraft()) {
			continue
		}
		if raw, ok := clean.Raw(b); ok {
			others = append(others, raw)
		}
	}
	return first, others
}

// answeredInJSON reports whether the original has a text that is an object of c.
func (call *Call) answeredInJSON(c *Contract) bool {
	if call.Relay.OriginalContract != c {
		return false
	}
	var head resultHead
	if json.UnmarshalLenient(call.result(), &head) != nil {
		return false
	}
	return slices.ContainsFunc(head.Content, func(b json.Value) bool {
		text, ok := textBlock(b)
		return ok && c.readObject(json.NodeOf(json.Value(text)), newDraft())
	})
}
