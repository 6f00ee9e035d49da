package contract

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/json"
)

// Failures in no contract's form are read by families: descriptions of the systems they come from.

// wild reads an answer by the families.
func (r *Reader) wild(a answer) (e *recourse.Error, sign string, ok bool) {
	found := r.found(a)
	if found == nil {
		return nil, "", false
	}
	if r.Trusted && a.sure && found.form.family.file.Last { // the server's own word would count
		found.e.Effect = recourse.EffectUnknown
	}
	return &found.e, found.sign(), true
}

// found returns what the families make of an answer, completed with the members that the objects of many
// systems share; nil if nothing.
func (r *Reader) found(a answer) *finding {
	if r.ContractsOnly {
		return nil
	}
	s := &search{now: r.now()}
	objects := withInner(a.text, a.objects)
	s.parts(r.indexes(), a.text, objects)
	best := s.result()
	if best == nil {
		return nil
	}
	e := &best.e
	for _, object := range objects {
		if f, ok := parseForeign(object); ok {
			f.apply(e)
			e.Message = cmp.Or(e.Message, f.sentence())
		}
	}
	if e.Message == "" || !strings.HasPrefix(strings.TrimSpace(a.text), "{") {
		e.Message = a.text
	}
	e.Message = clean.Message(e.Message)
	return best
}

func (f *finding) sign() string { return "family " + f.form.family.Name }

// inBody adds what the families make of the body of an HTTP answer. The status takes precedence over a
// phrase, unless the status says little.
func (r *Reader) inBody(said *recourse.Error, body []byte) (e *recourse.Error, sign string, ok bool) {
	a := answer{text: string(body[:min(len(body), maxSearchedObject)])}
	if text := strings.TrimSpace(a.text); strings.HasPrefix(text, "{") {
		a.objects = []*json.Node{json.NodeOf(json.Value(text))}
	}
	found := r.found(a)
	if found == nil || found.rank < leastRank(said.Upstream.Status, a.objects != nil) {
		return nil, "", false
	}
	if a.objects == nil {
		found.e.Message = said.Message // a page is not a sentence
	}
	return withHTTP(&found.e, said), found.sign(), true
}

// leastRank returns the rank that a finding in the body needs to take precedence over the HTTP status. Some
// services use certain statuses for anything.
func leastRank(status int, object bool) int {
	switch status {
	case http.StatusBadRequest:
		if object {
			return rankLast
		}
		return rankKind
	case http.StatusForbidden, http.StatusInternalServerError:
		return rankKind
	default:
		return rankObject
	}
}

func (r *Reader) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// weakly reads an answer that reports success, by the families in the server's entry.
func (r *Reader) weakly(a answer) (reading Reading, ok bool) {
	if len(r.Families) == 0 || a.blocks > 1 {
		return Reading{}, false
	}
	s := &search{now: r.now(), weak: r.Families}
	var indexes []*index
	for _, f := range r.Families {
		indexes = append(indexes, f.index())
	}
	s.parts(indexes, strings.TrimPrefix(strings.TrimSpace(a.text), "Error: "), a.objects)
	if len(s.findings) == 0 {
		return Reading{}, false
	}
	found := r.found(a) // the other families add to it
	if found == nil {
		return Reading{}, false
	}
	return r.plain(&found.e, "weak sign: "+found.sign()), true
}

// indexes returns the index of the user's families, then that of the built-in ones.
func (r *Reader) indexes() []*index {
	var list []*index
	for _, f := range r.Families {
		if !f.builtin {
			list = append(list, f.index())
		}
	}
	return append(list, builtinIndex())
}

// unwrapped returns a text without a runtime's prefix, and the code in that prefix.
func (r *Reader) unwrapped(text string) (rest, code string, ok bool) {
	text = strings.TrimSpace(text)
	for _, f := range r.Families {
		if rest, code, ok = f.unwrapped(text); ok {
			return rest, code, true
		}
	}
	for _, f := range builtinFamilies() {
		if rest, code, ok = f.unwrapped(text); ok {
			return rest, code, true
		}
	}
	return text, "", false
}

// maxBeginnings limits how many brackets in a text are tried as the start of an object.
const maxBeginnings = 64

// objectIn returns the JSON object or list inside a text, or nil.
func objectIn(text string) json.Value {
	if strings.IndexByte(text, '{') < 0 && strings.IndexByte(text, '[') < 0 {
		return nil
	}
	lastBrace, lastBracket := strings.LastIndexByte(text, '}'), strings.LastIndexByte(text, ']')
	from := -1
	for range maxBeginnings {
		next := strings.IndexAny(text[from+1:], "{[")
		if next < 0 {
			return nil
		}
		from += 1 + next
		to := lastBrace
		if text[from] == '[' {
			to = lastBracket
		}
		if to < from {
			continue
		}
		if to-from > maxSearchedObject {
			return nil
		}
		if raw := json.Value(text[from : to+1]); json.Valid(raw) {
			return raw
		}
		if raw := pythonJSON(text[from : to+1]); json.Valid(raw) {
			return raw
		}
		if text[from] == '{' { // anything inside is only a part
			return nil
		}
	}
	return nil
}

// pythonLiterals maps Python's literals to JSON's.
var pythonLiterals = map[string]string{
	"None": "null", "True": "true", "False": "false", "null": "null", "true": "true", "false": "false",
}

// pythonJSON converts a value as Python prints it to JSON, if possible.
func pythonJSON(text string) json.Value {
	if !strings.Contains(text, "'") {
		return nil
	}
	var out []byte
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '\'' || b == '"':
			end := i + 1
			for end < len(text) && text[end] != b {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil
			}
			inner := strings.NewReplacer(`\'`, `'`, `\"`, `"`, `\n`, "\n", `\\`, `\`).Replace(text[i+1 : end])
			out = json.AppendQuote(out, inner)
			i = end + 1
		case isLetterByte(b):
			n := span(text[i:], isLetterByte)
			word := pythonLiterals[text[i:i+n]]
			if word == "" {
				return nil
			}
			out = append(out, word...)
			i += n
		default:
			out = append(out, b)
			i++
		}
	}
	return out
}
