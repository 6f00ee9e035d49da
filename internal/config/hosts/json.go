package hosts

import (
	"bytes"
	"errors"
	"io"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// jsonForm describes how the members of a JSON object follow each other.
var jsonForm = spacing{sign: ": ", quote: true}

// readJSON returns the value of a JSON text. Comments and trailing commas are allowed.
func (r *fileReader) readJSON(source []byte) *node {
	d := json.NewDecoder(bytes.NewReader(plain(source)))
	root, err := r.jsonValue(d)
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return root
		}
		r.mistakef(int(d.InputOffset()), "", "there is something after the end of the JSON text")
		return nil
	}
	r.jsonSyntax(err)
	return nil
}

// jsonValue reads the next value.
func (r *fileReader) jsonValue(d *json.Decoder) (*node, error) {
	switch d.PeekKind() {
	case '{':
		return r.jsonObject(d)
	case '[':
		return r.jsonList(d)
	default:
	}
	raw, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	n := &node{at: extent{end - len(raw), end}}
	switch raw.Kind() {
	case '"':
		n.kind = text
		if err := json.Unmarshal(raw, &n.text); err != nil {
			return nil, err
		}
	case 't', 'f':
		n.kind, n.text = truth, string(raw)
	default:
	}
	return n, nil
}

func (r *fileReader) jsonObject(d *json.Decoder) (*node, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	n := &node{kind: object, at: extent{start: int(d.InputOffset()) - 1}}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := &pair{name: name.String(), nameAt: int(d.InputOffset()), form: jsonForm}
		if m.value, err = r.jsonValue(d); err != nil {
			return nil, err
		}
		n.members = append(n.members, m)
	}
	return n, endOf(d, n)
}

func (r *fileReader) jsonList(d *json.Decoder) (*node, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	n := &node{kind: list, at: extent{start: int(d.InputOffset()) - 1}}
	for kind := d.PeekKind(); kind != ']' && kind != 0; kind = d.PeekKind() {
		item, err := r.jsonValue(d)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, endOf(d, n)
}

// endOf reads the bracket that closes n.
func endOf(d *json.Decoder, n *node) error {
	_, err := d.ReadToken()
	n.at.end = int(d.InputOffset())
	return err
}

// jsonSyntax reports that the text is not JSON.
func (r *fileReader) jsonSyntax(err error) {
	_, offset, _ := json.Position(err)
	why := err
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		why = syntax.Err
	}
	switch {
	case errors.Is(err, json.ErrDuplicateName):
		r.mistakef(int(offset), "remove one of them", "this name appears twice in one object")
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		r.mistakef(len(r.file.text), "", "the file ends in the middle of the JSON text")
	default:
		r.mistakef(int(offset), "", "this is not JSON: %s", why)
	}
}
