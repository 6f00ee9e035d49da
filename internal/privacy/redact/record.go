package redact

import (
	stdjson "encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Error returns a copy of e with its texts masked: the message, the hints, the violations, the details, unknown
// members, and the same of failed items. Kinds, codes, numbers, names of parameters and the private cause stay. The
// copy of nil is nil.
func (m *Masker) Error(e *recourse.Error) *recourse.Error {
	if e == nil || m.mode == Off {
		return e
	}
	return e.With(func(c *recourse.Error) {
		c.Message = m.String(c.Message)
		c.Hints = each(c.Hints, m.String)
		c.Code, c.Provider = m.String(c.Code), m.String(c.Provider)
		c.Resource.Type, c.Resource.ID = m.String(c.Resource.Type), m.String(c.Resource.ID)
		c.Upstream.Code, c.Upstream.RequestID = m.String(c.Upstream.Code), m.String(c.Upstream.RequestID)
		c.MissingScopes = each(c.MissingScopes, m.String)
		c.Quotas = each(c.Quotas, func(q recourse.Quota) recourse.Quota {
			q.Policy, q.Partition = m.String(q.Policy), m.String(q.Partition)
			return q
		})
		c.Verify = m.verify(c.Verify)
		c.Violations = each(c.Violations, m.violation)
		c.Succeeded = each(c.Succeeded, func(s recourse.SucceededItem) recourse.SucceededItem {
			s.ID, s.Value = m.String(s.ID), m.raw(s.Value)
			return s
		})
		c.Failed = each(c.Failed, func(f recourse.FailedItem) recourse.FailedItem {
			f.ID, f.Error = m.String(f.ID), m.Error(f.Error)
			return f
		})
		c.Missing = each(c.Missing, func(d recourse.MissingData) recourse.MissingData {
			d.What, d.Impact, d.Message = m.String(d.What), m.String(d.Impact), m.String(d.Message)
			return d
		})
		c.Details = m.members(c.Details)
	}).WithExtra(m.members(e.Extra()))
}

func (m *Masker) verify(v *recourse.Verify) *recourse.Verify {
	if v == nil {
		return nil
	}
	masked := *v
	masked.Tool, masked.LookAt = m.String(v.Tool), m.String(v.LookAt)
	masked.Args = each(v.Args, func(a recourse.Arg) recourse.Arg {
		if secret.Name(a.Name) && !isLiteral(a.Value) {
			a.Value = json.AppendQuote(nil, markCredential)
		}
		a.Name, a.Value = m.String(a.Name), m.raw(a.Value)
		return a
	})
	return &masked
}

func (m *Masker) violation(v recourse.Violation) recourse.Violation {
	v.Want, v.Message = m.String(v.Want), m.String(v.Message)
	v.Param, v.Pointer = m.String(v.Param), m.String(v.Pointer)
	if secret.Name(v.Param) || m.personal && isPersonal(v.Param) {
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
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		switch {
		case isLiteral(raw):
		case secret.Name(name):
			raw = json.AppendQuote(nil, markCredential)
		case m.personal && isPersonal(name):
			raw = json.AppendQuote(nil, markPersonal)
		}
		shown := m.String(name)
		for masked[shown] != nil {
			shown += "'"
		}
		masked[shown] = m.raw(raw)
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
