package recourse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// Version is the version of the JSON form that this package writes.
	Version = 1
	// MaxJSON is the maximum length, in bytes, of the JSON form where it accompanies
	// an answer. To fit, these are dropped in order: details, got values, values of
	// succeeded items, ends of lists and of texts; "truncated" says so.
	// [Error.WholeJSON] drops nothing.
	MaxJSON = 16 << 10
	// MetaKey is the key of a result's _meta under which the JSON form travels.
	MetaKey = "io.github.recoursehq/error"
)

// jsonError is the JSON form. Its members stand in the order in which they are
// written.
type jsonError struct {
	V             int                        `json:"v"`
	Kind          Kind                       `json:"kind"`
	Code          string                     `json:"code,omitempty"`
	Contract      string                     `json:"contract,omitempty"`
	Message       string                     `json:"message,omitempty"`
	Hints         []string                   `json:"hints,omitempty"`
	Retry         Retry                      `json:"retry,omitempty"`
	AfterMs       int64                      `json:"afterMs,omitempty"`
	Effect        Effect                     `json:"effect,omitempty"`
	EffectBasis   Basis                      `json:"effectBasis,omitempty"`
	Verify        *Verify                    `json:"verify,omitempty"`
	Violations    []Violation                `json:"violations,omitempty"`
	Resource      *Resource                  `json:"resource,omitempty"`
	Provider      string                     `json:"provider,omitempty"`
	MissingScopes []string                   `json:"missingScopes,omitempty"`
	Quotas        []jsonQuota                `json:"quotas,omitempty"`
	Succeeded     []SucceededItem            `json:"succeeded,omitempty"`
	Failed        []jsonFailed               `json:"failed,omitempty"`
	Missing       []MissingData              `json:"missing,omitempty"`
	Origin        Origin                     `json:"origin,omitempty"`
	Upstream      *Upstream                  `json:"upstream,omitempty"`
	RequestID     string                     `json:"requestId,omitempty"`
	Details       map[string]json.RawMessage `json:"details,omitempty"`
	Truncated     bool                       `json:"truncated,omitempty"`
}

// A jsonFailed holds the error in its JSON form: read one level at a time, and written
// with or without a bound.
type jsonFailed struct {
	ID    string          `json:"id"`
	Error json.RawMessage `json:"error"`
}

type jsonQuota struct {
	Policy    string `json:"policy,omitempty"`
	Limit     int64  `json:"limit,omitempty"`
	WindowMs  int64  `json:"windowMs,omitempty"`
	Remaining int64  `json:"remaining"`
	ResetAt   string `json:"resetAt,omitempty"`
	Partition string `json:"partition,omitempty"`
}

// known are the members of the JSON form.
var known = []string{
	"v", "kind", "code", "contract", "message", "hints", "retry", "afterMs", "effect", "effectBasis", "verify",
	"violations", "resource", "provider", "missingScopes", "quotas", "succeeded", "failed", "missing", "origin", "upstream",
	"requestId", "details", "truncated",
}

// MarshalJSON writes the JSON form, version 1: at most [MaxJSON] bytes, without
// the cause. "retry" is [Error.RetryAdvice].
func (e *Error) MarshalJSON() ([]byte, error) {
	e, b, err := e.valid((*Error).MarshalJSON)
	if err != nil || escapedLen(b) <= MaxJSON {
		return b, err
	}
	for _, cut := range cuts {
		e = e.With(cut)
		e.truncated = true
		if b, err = e.encode((*Error).MarshalJSON); err != nil || escapedLen(b) <= MaxJSON {
			return b, err
		}
	}
	return b, err
}

// WholeJSON writes the JSON form at any length, for places without a limit:
// [MaxJSON] is for what accompanies an answer. Within that limit it is what
// MarshalJSON writes.
func (e *Error) WholeJSON() ([]byte, error) {
	_, b, err := e.valid((*Error).WholeJSON)
	return b, err
}

// valid encodes e, without its raw values that are not JSON: the record is worth more
// than those. It returns what was encoded.
func (e *Error) valid(item func(*Error) ([]byte, error)) (*Error, []byte, error) {
	b, err := e.encode(item)
	if err != nil {
		e = e.With(dropInvalid)
		b, err = e.encode(item)
	}
	return e, b, err
}

// escapedLen returns the length of b after json.Marshal has escaped it for HTML.
func escapedLen(b []byte) int {
	return len(b) + 5*(bytes.Count(b, []byte("<"))+bytes.Count(b, []byte(">"))+bytes.Count(b, []byte("&")))
}

// dropInvalid removes what is not JSON from the raw values.
func dropInvalid(e *Error) {
	valid := func(raw json.RawMessage) json.RawMessage {
		if !json.Valid(raw) {
			return nil
		}
		return raw
	}
	members := func(m map[string]json.RawMessage) map[string]json.RawMessage {
		m = maps.Clone(m)
		maps.DeleteFunc(m, func(_ string, raw json.RawMessage) bool { return valid(raw) == nil })
		return m
	}
	e.Details, e.extra = members(e.Details), members(e.extra)
	e.Violations = slices.Clone(e.Violations)
	for i := range e.Violations {
		e.Violations[i].Got = valid(e.Violations[i].Got)
	}
	e.Succeeded = slices.Clone(e.Succeeded)
	for i := range e.Succeeded {
		e.Succeeded[i].Value = valid(e.Succeeded[i].Value)
	}
	if e.Verify != nil {
		verify := *e.Verify
		verify.Args = slices.Clone(verify.Args)
		for i := range verify.Args {
			verify.Args[i].Value = valid(verify.Args[i].Value)
		}
		verify.From = slices.Clone(verify.From)
		for i := range verify.From {
			verify.From[i].Value = valid(verify.From[i].Value)
		}
		e.Verify = &verify
	}
}

// cuts shorten a record, the least needed first.
var cuts = []func(*Error){
	func(e *Error) { e.Details = nil },
	func(e *Error) {
		e.Violations = slices.Clone(e.Violations)
		for i := range e.Violations {
			e.Violations[i].Got = nil
		}
	},
	func(e *Error) {
		e.Succeeded = slices.Clone(e.Succeeded)
		for i := range e.Succeeded {
			e.Succeeded[i].Value = nil
		}
	},
	func(e *Error) { e.extra = nil },
	shorten(32, 512),
	shorten(8, 128),
	shorten(1, 64),
	func(e *Error) { // what decides about a repetition is never cut
		*e = Error{
			Kind: e.Kind, Retry: e.RetryAdvice(), RetryAfter: e.RetryAfter, Effect: e.Effect, EffectBasis: e.EffectBasis,
			Origin: e.Origin, truncated: true,
		}
	},
}

// shorten cuts every list to most items and every text to length characters.
func shorten(most, length int) func(*Error) {
	text := func(s string) string {
		if r := []rune(s); len(r) > length {
			return string(r[:length-1]) + "…"
		}
		return s
	}
	texts := func(list []string) []string {
		short := slices.Clone(list[:min(most, len(list))])
		for i := range short {
			short[i] = text(short[i])
		}
		return short
	}
	return func(e *Error) {
		e.Code, e.Contract, e.Message, e.Provider = text(e.Code), text(e.Contract), text(e.Message), text(e.Provider)
		e.RequestID = text(e.RequestID)
		e.Resource = Resource{Type: text(e.Resource.Type), ID: text(e.Resource.ID)}
		e.Upstream.Code, e.Upstream.RequestID = text(e.Upstream.Code), text(e.Upstream.RequestID)
		e.Hints, e.MissingScopes = texts(e.Hints), texts(e.MissingScopes)
		e.Violations = slices.Clone(e.Violations[:min(most, len(e.Violations))])
		for i, v := range e.Violations {
			e.Violations[i] = Violation{
				Pointer: text(v.Pointer), Param: text(v.Param), Rule: text(v.Rule),
				Want: text(v.Want), Message: text(v.Message),
			}
		}
		e.Retry, e.Effect, e.Origin = Retry(text(string(e.Retry))), Effect(text(string(e.Effect))), Origin(text(string(e.Origin)))
		e.EffectBasis = Basis(text(string(e.EffectBasis)))
		e.Quotas = slices.Clone(e.Quotas[:min(most, len(e.Quotas))])
		for i, q := range e.Quotas {
			e.Quotas[i].Policy, e.Quotas[i].Partition = text(q.Policy), text(q.Partition)
		}
		e.Succeeded = slices.Clone(e.Succeeded[:min(most, len(e.Succeeded))])
		for i, s := range e.Succeeded {
			e.Succeeded[i].ID = text(s.ID)
		}
		e.Failed = slices.Clone(e.Failed[:min(most, len(e.Failed))])
		for i, f := range e.Failed {
			item := New(KindUnknown, "")
			if f.Error != nil {
				item = New(f.Error.Kind, text(f.Error.Message))
				item.Code, item.Retry = text(f.Error.Code), f.Error.RetryAdvice()
			}
			e.Failed[i] = FailedItem{ID: text(f.ID), Error: item}
		}
		e.Missing = slices.Clone(e.Missing[:min(most, len(e.Missing))])
		for i, m := range e.Missing {
			e.Missing[i] = MissingData{What: text(m.What), Impact: text(m.Impact), Message: text(m.Message)}
		}
		if e.Verify != nil && len(e.Verify.String()) > 4*length {
			e.Verify = nil
		}
	}
}

// encode writes the JSON form; item writes that of a failed item.
func (e *Error) encode(item func(*Error) ([]byte, error)) ([]byte, error) {
	kind, ok := ParseKind(string(e.Kind))
	if !ok {
		kind = KindUnknown
	}
	w := jsonError{
		V: Version, Kind: kind, Code: e.Code, Contract: e.Contract, Message: e.Message, Hints: e.Hints,
		Retry: e.RetryAdvice(), AfterMs: wholeMs(e.RetryAfter), Effect: e.Effect, EffectBasis: e.EffectBasis, Verify: e.Verify,
		Violations: e.Violations, Provider: e.Provider, MissingScopes: e.MissingScopes,
		Succeeded: e.Succeeded, Missing: e.Missing,
		Origin: e.Origin, RequestID: e.RequestID, Details: e.Details, Truncated: e.truncated,
	}
	for _, f := range e.Failed {
		j := jsonFailed{ID: f.ID}
		if f.Error != nil {
			var err error
			if j.Error, err = item(f.Error); err != nil {
				return nil, err
			}
		}
		w.Failed = append(w.Failed, j)
	}
	if e.Resource != (Resource{}) {
		w.Resource = &e.Resource
	}
	if e.Upstream != (Upstream{}) {
		w.Upstream = &e.Upstream
	}
	for _, q := range e.Quotas {
		j := jsonQuota{
			Policy: q.Policy, Limit: q.Limit, WindowMs: wholeMs(q.Window),
			Remaining: q.Remaining, Partition: q.Partition,
		}
		if !q.ResetAt.IsZero() {
			j.ResetAt = q.ResetAt.UTC().Format(time.RFC3339Nano)
		}
		w.Quotas = append(w.Quotas, j)
	}
	b, err := marshal(w)
	if err != nil {
		return nil, fmt.Errorf("recourse: write record: %w", err)
	}
	if len(e.extra) == 0 {
		return b, nil
	}
	more, err := marshal(e.extra)
	if err != nil {
		return nil, fmt.Errorf("recourse: write record: %w", err)
	}
	return append(append(b[:len(b)-1], ','), more[1:]...), nil
}

// maxFailedDepth is how deep failed items in failed items are read. Each level is
// read once more for each level above it, so that their number has a bound.
const maxFailedDepth = 3

// UnmarshalJSON reads the JSON form. Members that it does not know are kept and
// written again; a kind that it does not know becomes [KindUnknown]. Names are matched
// exactly: a name that differs from a known one only in case is dropped, since readers
// disagree on what it means. As usual, null changes nothing.
func (e *Error) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var read Error
	if err := read.decode(b, 0); err != nil {
		return fmt.Errorf("recourse: read record: %w", err)
	}
	*e = read
	return nil
}

func (e *Error) decode(b []byte, depth int) error {
	var members map[string]json.RawMessage
	if !onlyKnown(b) {
		if err := json.Unmarshal(b, &members); err != nil {
			return err
		}
		if dropFolded(members) {
			var err error
			if b, err = marshal(members); err != nil {
				return err
			}
		}
	}
	var w jsonError
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	kind, _ := ParseKind(string(w.Kind))
	*e = Error{
		Kind: kind, Code: w.Code, Contract: w.Contract, Message: w.Message, Hints: w.Hints,
		Retry: w.Retry, RetryAfter: milliseconds(w.AfterMs), Effect: w.Effect, EffectBasis: w.EffectBasis, Verify: w.Verify,
		Violations: w.Violations, Provider: w.Provider, MissingScopes: w.MissingScopes,
		Succeeded: w.Succeeded, Missing: w.Missing,
		Origin: w.Origin, RequestID: w.RequestID, Details: w.Details, truncated: w.Truncated,
		extra: unknownOf(members),
	}
	if w.Resource != nil {
		e.Resource = *w.Resource
	}
	if w.Upstream != nil {
		e.Upstream = *w.Upstream
	}
	for _, q := range w.Quotas {
		quota := Quota{
			Policy: q.Policy, Limit: q.Limit, Window: milliseconds(q.WindowMs),
			Remaining: q.Remaining, Partition: q.Partition,
		}
		if at, err := time.Parse(time.RFC3339, q.ResetAt); err == nil {
			quota.ResetAt = at.UTC()
		}
		e.Quotas = append(e.Quotas, quota)
	}
	for _, f := range w.Failed {
		item := New(KindUnknown, "")
		if depth < maxFailedDepth && len(f.Error) > 0 && string(f.Error) != "null" {
			if err := item.decode(f.Error, depth+1); err != nil {
				return err
			}
		}
		e.Failed = append(e.Failed, FailedItem{ID: f.ID, Error: item})
	}
	return nil
}

// onlyKnown reports whether all names in the object b are known, so that most records
// need no second pass for unknown ones. If b is not JSON, the result does not matter.
func onlyKnown(b []byte) bool {
	depth, atName := 0, false
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
			atName = depth == 1
		case '}', ']':
			depth--
		case ',':
			atName = depth == 1
		case '"':
			start := i + 1
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if atName && i < len(b) && !slices.Contains(known, string(b[start:i])) {
				return false
			}
			atName = false
		}
	}
	return true
}

// dropFolded removes the members that a case-insensitive reader would take for known
// ones, and reports whether there were any.
func dropFolded(members map[string]json.RawMessage) bool {
	before := len(members)
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool {
		return !slices.Contains(known, name) &&
			slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
	})
	return len(members) < before
}

// unknownOf returns the members that are not known in any case, or nil if there are
// none.
func unknownOf(members map[string]json.RawMessage) map[string]json.RawMessage {
	unknown := maps.Clone(members)
	dropFolded(unknown)
	for _, name := range known {
		delete(unknown, name)
	}
	if len(unknown) == 0 {
		return nil
	}
	return unknown
}

// wholeMs writes a duration, rounded up, since a wait is a minimum.
func wholeMs(d time.Duration) int64 {
	ms := max(d, 0).Milliseconds()
	if time.Duration(ms)*time.Millisecond < d {
		ms++
	}
	return ms
}

// milliseconds reads a duration, bounded by 0 and what a Duration can hold.
func milliseconds(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(max(ms, 0), most)) * time.Millisecond
}

// marshal is json.Marshal without HTML escapes, since models and people read the
// record.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
