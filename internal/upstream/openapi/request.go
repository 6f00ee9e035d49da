package openapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// An HTTPRequest is a tool call as an HTTP request.
type HTTPRequest struct {
	Method string
	Target string // path and query, escaped
	Header http.Header
	Body   []byte // nil: none
}

// Request returns the HTTP request for a call with these arguments. The error is a [*recourse.Error]
// about an argument that cannot be written in its place.
func (t *Offer) Request(arguments json.Value) (*HTTPRequest, error) {
	given := map[string]json.Value{}
	if len(arguments) > 0 && arguments.Kind() != 'n' {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return nil, recourse.New(recourse.KindInvalidType, "The arguments must be an object.").
				WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
		}
	}
	w := requestWriter{header: http.Header{"Accept": {t.accept}}, path: t.Path}
	var members json.Members
	for _, p := range t.params {
		raw := given[p.arg]
		switch {
		case raw == nil && p.required:
			return nil, recourse.Missing(p.arg).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
		case raw == nil:
			continue
		case p.in == inBody:
			members.Add(p.name, raw)
			continue
		}
		if raw.Kind() == 'n' && !p.required { // a parameter cannot be null: it is left out
			continue
		}
		if err := w.put(p, raw); err != nil {
			return nil, invalid(p.arg, err)
		}
	}
	r := &HTTPRequest{Method: t.Method, Header: w.header}
	if t.body != nil {
		if err := t.body.write(r, given, members); err != nil {
			return nil, err
		}
	}
	if !t.leadsTo(w.path) {
		return nil, t.misplaced(given)
	}
	r.Target = w.path
	if len(w.query) > 0 {
		r.Target += "?" + strings.Join(w.query, "&")
	}
	return r, nil
}

// invalid returns the failure for an argument that cannot be written.
func invalid(arg string, err error) error {
	return recourse.New(recourse.KindInvalidType, arg+" cannot be sent: "+err.Error()+".").
		WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
		WithViolations(recourse.Violation{
			Pointer: string(json.Pointer("").AppendToken(arg)), Param: arg, Rule: keyType, Message: err.Error(),
		})
}

// A requestWriter writes parameters to their places.
type requestWriter struct {
	header http.Header
	path   string
	query  []string // pairs, escaped
}

func (w *requestWriter) put(p *param, raw json.Value) error {
	v, err := json.UnmarshalAny(raw)
	if err != nil {
		return err
	}
	switch p.in {
	case inPath:
		text, err := p.simple(v, escapeAll)
		if err != nil {
			return err
		}
		w.path = strings.ReplaceAll(w.path, "{"+p.name+"}", text)
	case inQuery:
		pairs, err := p.pairs(v)
		if err != nil {
			return err
		}
		w.query = append(w.query, escaped(pairs, p.reserved)...)
	case inHeader:
		text, err := p.simple(v, func(s string) string { return s })
		if err != nil {
			return err
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return errLine
		}
		w.header.Set(p.name, strings.Trim(text, " \t"))
	case inCookie:
		pairs, err := p.pairs(v)
		if err != nil {
			return err
		}
		all := slices.Concat(w.header["Cookie"], escaped(pairs, false))
		w.header["Cookie"] = []string{strings.Join(all, "; ")}
	}
	return nil
}

var errLine = errors.New("it must be one line without control characters")

func escaped(pairs []pair, reserved bool) []string {
	keep := ""
	if reserved {
		keep = reservedKept
	}
	list := make([]string, len(pairs))
	for i, p := range pairs {
		list[i] = escapeAll(p.name) + "=" + escape(p.value, keep)
	}
	return list
}

// write adds the body to a request.
func (b *payload) write(r *HTTPRequest, given map[string]json.Value, members json.Members) error {
	var whole json.Value
	if b.arg != "" {
		whole = given[b.arg]
		switch {
		case whole == nil && b.required:
			return recourse.Missing(b.arg).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
		case whole == nil:
			return nil
		}
	} else {
		if len(members) == 0 && !b.required {
			return nil
		}
		whole = members.AppendTo(nil)
	}
	r.Header.Set("Content-Type", b.media)
	switch b.form {
	case formText:
		text, err := json.AppendUnquote(nil, whole)
		if err != nil {
			return invalid(b.arg, errText)
		}
		r.Body = text
	case formForm:
		pairs, err := b.pairs(whole)
		if err != nil {
			return err
		}
		r.Body = []byte(strings.Join(pairs, "&"))
	default:
		r.Body = whole
	}
	if r.Body == nil {
		r.Body = []byte{}
	}
	return nil
}

var errText = errors.New("it must be a text")

// pairs writes an object as a form.
func (b *payload) pairs(object json.Value) (list []string, err error) {
	for _, m := range json.MembersOf(object) {
		p := b.encoding[m.Name]
		v, err := json.UnmarshalAny(m.Value)
		if err != nil {
			return nil, err
		}
		if p == nil {
			_, isObject := v.(map[string]any)
			p = &param{name: m.Name, style: styleForm, explode: true, asJSON: isObject}
		}
		if _, isList := v.([]any); isList && p.asJSON {
			p = &param{name: m.Name, style: styleForm, explode: true}
		}
		pairs, err := p.pairs(v)
		if err != nil {
			return nil, invalid(m.Name, err)
		}
		list = append(list, escaped(pairs, p.reserved)...)
	}
	return list, nil
}

// QueryArgument returns the name of the argument for a query parameter; "" if there is none.
func (t *Offer) QueryArgument(name string) string {
	for _, p := range t.params {
		if p.in == inQuery && p.name == name {
			return p.arg
		}
	}
	return ""
}
