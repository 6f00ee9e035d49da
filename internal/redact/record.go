package redact

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/secret"
)

// JSON returns the JSON text raw with its strings masked. The value of a member
// that is named like a secret becomes the mark as a whole, unless it is null,
// true or false. All else stays as it is spelled; names of members stay. What is
// not JSON comes back as one masked JSON string.
func (m *Masker) JSON(raw []byte) []byte {
	if m.mode == Off {
		return raw
	}
	out, err := m.rewrite(raw)
	if err != nil {
		return json.AppendQuote(nil, m.String(string(raw)))
	}
	return out
}

// rewrite copies raw token by token, so that its depth costs nothing.
func (m *Masker) rewrite(raw []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewBuffer(raw))
	var out []byte // nil as long as nothing differs
	done := 0      // how much of raw is in out
	replace := func(start, end int, value string) {
		out = append(out, raw[done:start]...)
		out = json.AppendQuote(out, value)
		done = end
	}
	hide := false // the next value is that of a secret
	texts := 0    // JSON texts in raw: one
	for {
		kind := dec.PeekKind()
		if hide && (kind == '{' || kind == '[' || kind == '0') {
			value, err := dec.ReadValue()
			if err != nil {
				return nil, err
			}
			end := int(dec.InputOffset())
			replace(end-len(value), end, markCredential)
			hide = false
			continue
		}
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) && texts == 1 {
			break
		}
		if err != nil {
			return nil, err
		}
		if dec.StackDepth() == 0 {
			texts++
		}
		if kind != '"' {
			hide = false
			continue
		}
		text := token.String()
		if container, n := dec.StackIndex(dec.StackDepth()); container == '{' && n%2 == 1 { // a name
			hide = secret.Name(text)
			continue
		}
		masked := m.String(text)
		if hide && text != "" {
			masked = markCredential
		}
		hide = false
		if masked != text {
			end := int(dec.InputOffset())
			replace(stringStart(raw, end), end, masked)
		}
	}
	if out == nil {
		return raw, nil
	}
	return append(out, raw[done:]...), nil
}

// stringStart returns where the JSON string begins that ends at a place.
func stringStart(raw []byte, end int) int {
	for start := end - 2; ; start-- {
		if raw[start] != '"' {
			continue
		}
		escapes := 0
		for start-escapes > 0 && raw[start-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return start
		}
	}
}

// Error returns a copy of e with its texts masked: the message, the hints, the
// violations, the details and members of other versions, and those of failed
// items. What e says by kinds, codes, numbers and names of parameters stays, and
// so does its private cause. The copy of nil is nil.
func (m *Masker) Error(e *recourse.Error) *recourse.Error {
	if e == nil || m.mode == Off {
		return e
	}
	return e.With(func(c *recourse.Error) {
		c.Message = m.String(c.Message)
		c.Hints = each(c.Hints, m.String)
		c.Resource.ID = m.String(c.Resource.ID)
		c.Upstream.RequestID = m.String(c.Upstream.RequestID)
		c.Violations = each(c.Violations, m.violation)
		c.Succeeded = each(c.Succeeded, func(s recourse.Succeeded) recourse.Succeeded {
			s.ID, s.Value = m.String(s.ID), m.raw(s.Value)
			return s
		})
		c.Failed = each(c.Failed, func(f recourse.Failed) recourse.Failed {
			f.ID, f.Error = m.String(f.ID), m.Error(f.Error)
			return f
		})
		c.Missing = each(c.Missing, func(d recourse.MissingData) recourse.MissingData {
			d.What, d.Impact, d.Message = m.String(d.What), m.String(d.Impact), m.String(d.Message)
			return d
		})
		c.Details = m.members(c.Details)
	}).WithUnknown(m.members(e.Unknown()))
}

func (m *Masker) violation(v recourse.Violation) recourse.Violation {
	v.Want, v.Message = m.String(v.Want), m.String(v.Message)
	if secret.Name(v.Param) {
		v.Got = nil
	}
	v.Got = m.raw(v.Got)
	return v
}

func (m *Masker) raw(raw stdjson.RawMessage) stdjson.RawMessage {
	if raw == nil {
		return nil
	}
	return m.JSON(raw)
}

func (m *Masker) members(members map[string]stdjson.RawMessage) map[string]stdjson.RawMessage {
	if members == nil {
		return nil
	}
	masked := make(map[string]stdjson.RawMessage, len(members))
	for name, raw := range members {
		if secret.Name(name) && !isLiteral(raw) {
			raw = json.AppendQuote(nil, markCredential)
		}
		masked[name] = m.raw(raw)
	}
	return masked
}

func isLiteral(raw []byte) bool { return len(raw) > 0 && strings.IndexByte("ntf", raw[0]) >= 0 }

// each returns a copy of list with change applied to every element.
func each[T any](list []T, change func(T) T) []T {
	if list == nil {
		return nil
	}
	changed := make([]T, len(list))
	for i, element := range list {
		changed[i] = change(element)
	}
	return changed
}
