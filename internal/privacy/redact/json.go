package redact

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// JSON returns the JSON text raw with its strings masked, including names. The value of a member that is named like a
// secret is replaced by a mark as a whole, unless it is null, true or false; so is the value in a pair such as {"name":
// "token", "value": "x"}, and what follows a name or an option in an array. A secret that is spread over several texts
// of one array is found, too. Text in base64 is masked inside if it is in a member blob or data. Everything else stays
// as it is written; repeated names and halves of surrogate pairs are accepted. If raw is not JSON, it is returned as
// one masked JSON string.
func (m *Masker) JSON(raw []byte) []byte {
	out, ok := m.Document(raw)
	if !ok {
		return json.AppendQuote(nil, m.String(string(raw)))
	}
	return out
}

// Document is [Masker.JSON], but ok is false if raw is not JSON.
func (m *Masker) Document(raw []byte) (masked []byte, ok bool) {
	if m.mode == Off {
		return raw, true
	}
	b := m.budget
	if b == nil {
		b = newBudget()
	}
	text, err := m.reader(b).rewrite(string(raw), 0)
	return []byte(text), err == nil
}

// Message returns a JSON-RPC message of a server to its client with its words masked. What the client has to give back
// or to act on stays: identifiers, state, cursors and progress tokens and, except for known secrets, URLs and schemas.
// A message that cannot be read becomes a masked string.
func (m *Masker) Message(raw []byte) []byte {
	if m.mode == Off {
		return raw
	}
	spoken := *m
	spoken.spoken = true
	return spoken.JSON(raw)
}

// A saying is what the name of a member says of its value, besides what package secret knows.
type saying uint8

const (
	fixed      saying = 1 << iota // in a message: it is not words
	plain                         // in a message: only known secrets are masked
	keyPart                       // in a JSON Web Key: it is secret (RFC 7518, section 6)
	pairName                      // it is the name in a pair of a name and a value
	pairValue                     // it is the value in one
	schemaWord                    // it belongs to a JSON Schema that describes a value
)

var sayings = func() map[string]saying {
	all := map[string]saying{}
	for said, names := range map[saying]string{
		fixed: "jsonrpc id method requestState elicitationId progressToken requestId taskId cursor nextCursor _meta mimeType resultType " +
			"uri kind",
		plain: "url requestedSchema modelPreferences", keyPart: "d p q dp dq qi k",
		pairName:  "name key field header param parameter property variable k Name Key id label env option",
		pairValue: "value val v content default Value current actual received stringValue string_value got",
		schemaWord: "type title description format pattern minLength maxLength minimum maximum nullable required readOnly writeOnly " +
			"items properties additionalProperties deprecated",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] |= said
		}
	}
	return all
}()

// isSchemaType reports whether a text is the type of a value in a JSON Schema.
func isSchemaType(text string) bool {
	switch text {
	case "string", "number", "integer", "boolean", "object", "array", "null":
		return true
	default:
		return false
	}
}

// A leaf is a string of a JSON text, or a value that is hidden as a whole.
type leaf struct {
	start, end int
	text       string
	mark       string // replaces it as a whole; "": it is masked
	name       bool   // it is the name of a member
	plain      bool   // only known secrets are masked
	blob       bool   // it may be text in base64
	array      int    // the array that it is in, directly or as the text of a block; 0: none
}

// A level is an object or array that is being read.
type level struct {
	object  bool
	named   bool   // the name of a member has been read, its value not yet
	array   int    // number of the array, or of the one that contains the object
	name    string // of the current member
	kind    secret.Kind
	says    saying
	hide    string // the mark of the next value
	secret  string // the mark of the value in a pair of name and value
	values  []int  // leaves that are values in such a pair
	strings []int  // leaves that are elements
	isKey   bool   // it is a JSON Web Key (RFC 7517)
	typed   bool   // it may be a JSON Schema,
	others  bool   // unless it has other members
	parts   []int  // leaves that would be secret parts of one
	start   int
	leaves  int // how many there were before it
}

// A reader finds the leaves of JSON texts, one after the other.
type reader struct {
	m      *Masker
	raw    string
	dec    *json.Decoder
	levels []level
	leaves []leaf
	arrays int
	names  []naming // some
	latest int      // of them
}

// A naming is what the name of members says of their values.
type naming struct {
	name  string
	kind  secret.Kind
	says  saying
	hide  string // the mark that replaces the value
	plain bool   // nothing can be masked in the name
}

func (r *reader) naming(name string) naming {
	const most = 16     // are compared
	for range r.names { // objects often have the same names in turn
		if r.latest++; r.latest >= len(r.names) {
			r.latest = 0
		}
		if r.names[r.latest].name == name {
			return r.names[r.latest]
		}
	}
	kind := secret.Of(name)
	found := naming{name, kind, sayings[name], r.m.markOf(name, kind), r.m.isPlain(name)}
	if len(r.names) < most {
		r.names = append(r.names, found)
	}
	return found
}

// reader returns a reader whose texts share the budget.
func (m *Masker) reader(b *budget) *reader {
	inner := *m
	inner.budget = b
	return &reader{m: &inner}
}

// rewrite masks a JSON text. It does not recurse into the text's levels.
func (r *reader) rewrite(raw string, layer int) (string, error) {
	const perLeaf = 4 // quotes, about
	if r.raw, r.levels, r.leaves, r.arrays = raw, r.levels[:0], r.leaves[:0], 0; r.leaves == nil {
		r.leaves = make([]leaf, 0, strings.Count(raw, `"`)/perLeaf)
	}
	r.decode([]byte(raw))
	if err := r.read(); err != nil {
		return "", err
	}
	return r.write(layer), nil
}

// decode makes the decoder read a text.
func (r *reader) decode(raw []byte) {
	from := bytes.NewBuffer(raw)
	if r.dec == nil {
		r.dec = json.NewLenientDecoder(from)
	} else {
		r.dec.Reset(from, r.dec.Options())
	}
}

// sizeOf returns the size of the object or array at the beginning of a text; 0 if there is none.
func (r *reader) sizeOf(raw []byte) int {
	r.decode(raw)
	if err := r.dec.SkipValue(); err != nil {
		return 0
	}
	return int(r.dec.InputOffset())
}

// read reads one JSON text.
func (r *reader) read() error {
	texts, end := 0, 0
	for {
		token, err := r.dec.ReadToken()
		if err != nil {
			if errors.Is(err, io.EOF) && texts == 1 {
				return nil
			}
			return err
		}
		before := end
		end = int(r.dec.InputOffset())
		switch kind := token.Kind(); kind {
		case '{', '[':
			r.open(kind == '{', end-1)
		case '}', ']':
			r.close(end)
		case '"':
			start := before + strings.IndexByte(r.raw[before:], '"')
			text, asIs := r.stringOf(start, end)
			if !asIs {
				text = token.String()
			}
			r.text(text, asIs, start, end)
		default:
			r.scalar(kind, end)
		}
		if len(r.levels) == 0 {
			if texts++; texts > 1 {
				return errSeveral
			}
		}
	}
}

// errSeveral reports that there are several JSON texts, such as in the lines of a log.
var errSeveral = errors.New("several JSON texts")

func (r *reader) top() *level {
	if len(r.levels) == 0 {
		return nil
	}
	return &r.levels[len(r.levels)-1]
}

// open enters an object or array.
func (r *reader) open(object bool, start int) {
	next := level{object: object, start: start, leaves: len(r.leaves)}
	if top := r.top(); top != nil {
		next.array = top.array
	}
	if !object {
		r.arrays++
		next.array = r.arrays
	}
	if n := len(r.levels); n < cap(r.levels) { // the memory of a level that is over is used again
		old := &r.levels[:n+1][n]
		next.values, next.strings, next.parts = old.values[:0], old.strings[:0], old.parts[:0]
	}
	r.levels = append(r.levels, next)
}

// close leaves an object or array.
func (r *reader) close(end int) {
	l := r.levels[len(r.levels)-1]
	r.levels = r.levels[:len(r.levels)-1]
	if l.secret != "" {
		for _, i := range l.values {
			if r.leaves[i].text != "" || r.leaves[i].mark == "" {
				r.leaves[i].mark = l.secret
			}
		}
	}
	for _, i := range l.parts {
		if l.isKey && r.leaves[i].text != "" {
			r.leaves[i].mark = markCredential
		}
	}
	r.sequence(l.strings)
	if top := r.top(); top != nil {
		if isSchema := l.typed && !l.others; isSchema || end-l.start == len("{}") { // it says what the secret looks like, or nothing
			top.hide = ""
		}
		r.valueEnds(top, l.start, end, l.leaves, "")
	}
}

// stringOf returns the string from start to end if it is written as it is, in visible ASCII.
func (r *reader) stringOf(start, end int) (text string, ok bool) {
	text = r.raw[start+1 : end-1]
	for i := range len(text) {
		if c := text[i]; c == '\\' || c >= 0x7f {
			return "", false
		}
	}
	return text, true
}

// text adds a string, which may be written as it is.
func (r *reader) text(text string, asIs bool, start, end int) {
	top := r.top()
	if top != nil && top.object && !top.named {
		r.memberName(top, text, start, end)
		return
	}
	l, first := leaf{start: start, end: end, text: text}, len(r.leaves)
	switch {
	case top == nil:
	case !top.object:
		l.array = top.array
		top.strings = append(top.strings, len(r.leaves))
	case top.name == "text":
		l.array = top.array
	case top.name == "kty":
		top.isKey = true
	case top.name == "type":
		top.typed = isSchemaType(text)
	case top.says&keyPart != 0:
		top.parts = append(top.parts, len(r.leaves))
	case top.name == "blob" || top.name == "data":
		l.blob = true
	}
	alone := top != nil && top.object && top.kind == secret.Harmless && top.says&(keyPart|pairValue) == 0 && l.array == 0 && !l.blob
	if !alone || !asIs || r.m.suspicious(text) || r.m.hasLiteral(text) {
		r.leaves = append(r.leaves, l)
	}
	if top != nil {
		if top.object && top.says&pairName != 0 {
			if mark := r.m.markOf(text, secret.Of(text)); mark != "" {
				top.secret = mark
			}
		}
		r.valueEnds(top, start, end, first, text)
	}
}

// memberName adds the name of a member.
func (r *reader) memberName(top *level, text string, start, end int) {
	m := r.naming(text)
	top.named, top.name, top.kind, top.says, top.hide = true, text, m.kind, m.says, m.hide
	top.others = top.others || top.says&schemaWord == 0
	if r.m.spoken && top.says&(fixed|plain) != 0 {
		top.hide = ""
	}
	if !m.plain {
		r.leaves = append(r.leaves, leaf{start: start, end: end, text: text, name: true})
	}
}

// scalar adds a number, true, false or null.
func (r *reader) scalar(kind json.Kind, end int) {
	top := r.top()
	if top == nil {
		return
	}
	if kind != '0' {
		top.hide, top.named = "", false
		return
	}
	start := end
	for start > 0 && ofNumbers[r.raw[start-1]] {
		start--
	}
	digits := r.raw[start:end]
	if top.hide != "" && isCount(top.name, digits) {
		top.hide = ""
	}
	if top.object && top.hide == "" && top.kind == secret.Digits && isNumber(top.name, digitsOf(digits)) {
		top.hide = markCredential
	}
	r.valueEnds(top, start, end, len(r.leaves), digits)
}

var ofNumbers = setOf("+-.0123456789eE")

// valueEnds hides a value if its name says so, together with its parts, which are the leaves from first on; or notes
// that it belongs to a pair.
func (r *reader) valueEnds(top *level, start, end, first int, text string) {
	if !top.object {
		return
	}
	top.named = false
	isString := r.raw[start] == '"'
	switch {
	case r.m.spoken && top.says&fixed != 0:
		r.leaves = r.leaves[:min(first, len(r.leaves))]
	case r.m.spoken && top.says&plain != 0:
		for i := first; i < len(r.leaves); i++ {
			r.leaves[i].plain, r.leaves[i].mark, r.leaves[i].array = true, "", 0
		}
	case top.hide != "" && (!isString || !saysNothing(text)):
		r.cover(first, start, end, top.hide)
	case isString && text != "" && (top.kind == secret.Maybe && isWeakValue(text) ||
		top.kind == secret.Digits && isNumber(top.name, digitsOf(text)) && strings.Trim(text, "0123456789 -") == ""):
		r.leaves[first].mark = markCredential
	case top.says&pairValue != 0 && isString:
		top.values = append(top.values, first)
	case top.says&pairValue != 0:
		// A leaf around the value hides it. It shows nothing until it gets a mark.
		r.leaves = slices.Insert(r.leaves, first, leaf{start: start, end: end, text: r.raw[start:min(end, start+1)], array: -1})
		top.values = append(top.values, first)
	}
	top.hide = ""
}

// isWeakValue reports whether a string looks like a secret, if its name only may be that of one.
func isWeakValue(text string) bool { return len(text) >= 16 && random(text) && !isID(text) }

// cover replaces the leaves from first on by a single one.
func (r *reader) cover(first, start, end int, mark string) {
	r.leaves = append(r.leaves[:first], leaf{start: start, end: end, mark: mark, text: "x"})
}

// markOf returns the mark for the value of a member of that name, or "".
func (m *Masker) markOf(name string, kind secret.Kind) string {
	switch {
	case isMark(name):
		return ""
	case kind == secret.Secret:
		return markCredential
	case m.personal && isPersonal(name):
		return markPersonal
	default:
		return ""
	}
}

// takesPassword reports whether a program takes a password directly after its option -p.
func takesPassword(program string) bool {
	name := program[strings.LastIndexByte(program, '/')+1:]
	return strings.HasPrefix(name, "mysql") || strings.HasPrefix(name, "mariadb") || name == "sshpass"
}

// sequence hides what follows the name or option of a secret in an array.
func (r *reader) sequence(elements []int) {
	for i := 0; i+1 < len(elements); i++ {
		name, value := r.leaves[elements[i]].text, &r.leaves[elements[i+1]]
		option := strings.HasPrefix(name, "-")
		bare := strings.TrimLeft(name, "-")
		user := (name == "-u" || name == "--user") && strings.Contains(value.text, ":")
		attached, short := strings.CutPrefix(value.text, "-p")
		if short && attached != "" && takesPassword(r.leaves[elements[0]].text) {
			value.mark = markCredential
			continue
		}
		if !user && (!option || !secret.Name(bare)) && (name != "-p" || !random(value.text)) &&
			(len(elements) != 2 || !secret.Name(name) || secret.Name(value.text) || isIdentifier(value.text)) {
			continue
		}
		if !strings.HasPrefix(value.text, "-") && value.text != "" && !saysNothing(value.text) && !isPlaceholder(value.text) {
			value.mark = markCredential
		}
	}
}
