package contract

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Failures in no contract's form are read by package wild.

// A Family describes how the failures of one system, such as AWS or PostgreSQL, look in the answers of
// servers that call it: its texts, objects and codes. A [Reader] knows the built-in ones, which [Families]
// lists. It is safe for concurrent use.
type Family struct {
	// Name identifies the family in configurations.
	Name string

	family *wild.Family
}

// Families returns the built-in families, by name.
func Families() []*Family {
	wild.Prepare()
	return slices.Clone(builtinFamilies())
}

var builtinFamilies = sync.OnceValue(func() []*Family {
	var list []*Family
	for _, f := range wild.Builtin() {
		list = append(list, &Family{f.Name(), f})
	}
	return list
})

// Same reports whether both families were loaded from the same text.
func (f *Family) Same(other *Family) bool { return f.family.Same(other.family) }

// IsFamily reports whether a file describes a family rather than a contract.
func IsFamily(src []byte) bool {
	doc, err := strictyaml.Parse("", src)
	return err == nil && doc.Root().Get("family") != nil
}

// LoadFamily reads a family file. The error lists every mistake in it, including examples that are not read
// as stated, each with its line, an excerpt and a hint; name stands for the file in it.
func LoadFamily(name string, src []byte) (*Family, error) {
	doc, err := strictyaml.Parse(name, src)
	if err != nil {
		return nil, err
	}
	f, err := wild.Load(doc, src)
	if err != nil {
		return nil, err
	}
	return &Family{f.Name(), f}, nil
}

// families returns those in the server's entry.
func (r *Reader) families() []*wild.Family {
	var list []*wild.Family
	for _, f := range r.Families {
		list = append(list, f.family)
	}
	return list
}

// wild reads an answer by the families.
func (r *Reader) wild(a evidence) (e *recourse.Error, sign string, ok bool) {
	found, ok := r.found(a)
	if !ok {
		return nil, "", false
	}
	if r.Trusted && a.sure && found.Last { // a guess from a sentence is not the server's own word, and no reason to repeat a write
		found.Error.EffectBasis = recourse.BasisStated
	}
	return found.Error, found.Sign, true
}

func (r *Reader) found(a evidence) (f wild.Finding, ok bool) {
	if r.ContractsOnly {
		return wild.Finding{}, false
	}
	return wild.Find(r.families(), r.now(), a.text, a.objects)
}

// inBody adds what the families make of the body of an HTTP answer.
func (r *Reader) inBody(said *recourse.Error, body []byte) (e *recourse.Error, sign string, ok bool) {
	if r.ContractsOnly {
		return nil, "", false
	}
	found, ok := wild.FindInBody(r.families(), r.now(), said, body)
	if !ok {
		return nil, "", false
	}
	return withHTTP(found.Error, said), found.Sign, true
}

func (r *Reader) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// splitViolations gives a failure whose sentence is a list of violations a sentence of its own.
func splitViolations(reading Reading) Reading {
	if e := reading.Error(); e != nil {
		reading.Failure = wild.Unfold(e)
	}
	return reading
}

// fromRPC turns a JSON-RPC error into a record; plain says that only its code tells us the kind. The server's
// own data is kept in the details.
func (r *Reader) fromRPC(code, message string, data *json.Node) (e *recourse.Error, plain bool) {
	e, plain = r.rpcKind(code, message, data)
	wild.AddObject(e, r.spelled(data, 0))
	if e.Upstream.Code == "" {
		e.Upstream.Code = code
	}
	if raw, ok := clean.Raw(data.Raw); ok && raw.Kind() != 'n' {
		e = e.WithDetail("data", raw)
	}
	return e, plain
}

// reBadRequest is how SDKs begin what they say of a message that is no request.
var reBadRequest = regexp.MustCompile(`(?i)^(?:invalid|bad) request`)

// overrules reports whether what a JSON-RPC error says in words counts more than its code, whose kind is "" if it has
// none. Servers use the codes for invalid requests and arguments for whatever is wrong with a call, and internalError
// for everything.
func overrules(said *recourse.Error, code recourse.Kind, message string) bool {
	input := said.Kind == recourse.KindUnknownTool || len(said.Violations) > 0
	switch code {
	case "", recourse.KindInternal:
		return true
	case recourse.KindInvalidRequest:
		return !reBadRequest.MatchString(message) && said.Kind != recourse.KindInternal && said.Kind != recourse.KindUnknown
	case recourse.KindInvalidValue:
		switch said.Kind.Class() {
		case recourse.ClassResource, recourse.ClassPermission:
			return true
		default:
			return input || said.Kind == recourse.KindMissingParam || said.Kind == recourse.KindBadResponse
		}
	case recourse.KindUnknownMethod:
		return said.Kind == recourse.KindUnknownTool
	default:
		return false
	}
}

// rpcKind returns the kind of a JSON-RPC error: from its words if they say more than its code, otherwise from the code.
func (r *Reader) rpcKind(code, message string, data *json.Node) (e *recourse.Error, plain bool) {
	number, err := strconv.Atoi(code)
	kind, ok := rpccode.Kinds[number]
	if err != nil {
		kind, ok = "", false
	}
	said := evidence{text: message}
	if kind := data.Raw.Kind(); kind == '{' || kind == '[' {
		said.objects = []*json.Node{r.spelled(data, 0)}
	}
	if known, _, recognized := r.recognized(last(r.peeled(said))); recognized && overrules(known, kind, message) {
		known.Message = cmp.Or(known.Message, clean.Message(message))
		return known, false
	}
	e = recourse.New(recourse.KindUnknown, clean.Message(message))
	if !ok {
		if isFailure(number) { // some servers use HTTP's
			e.Kind = recourse.FromStatus("", number).Kind
		}
		return e, true
	}
	e.Kind = kind
	if kind.Class() == recourse.ClassProtocol || kind.Class() == recourse.ClassInput {
		e.Effect = recourse.EffectNone // the server says that it did not run the call
	}
	return e, true
}
