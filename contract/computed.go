package contract

import (
	stdjson "encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
)

// rawMessage is the type of raw JSON in the record.
type rawMessage = stdjson.RawMessage

// A computed is a path to something that is not stored in the record, but follows from the record, its entry
// in the contract, and the call.
type computed struct {
	doc  string
	kind string // JSON type of its value
	name string // without the argument
	arg  string
	// A name that ends in a dot takes an argument: argument is how the documentation shows it, and takes
	// reports whether a text is valid as one.
	argument string
	takes    func(arg string) bool
	get      func(s *subject, arg string) (any, bool)
	// set stores the value in the record; nil if the record holds it elsewhere.
	set func(e *recourse.Error, arg string, raw []byte) bool
}

// computedMembers are the computed paths by name.
var computedMembers = map[string]computed{
	memberMessage: {
		doc: "the sentence, in the form that the code gives it", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) { return s.message(), true },
		set: func(e *recourse.Error, _ string, raw []byte) bool { return setString(&e.Message, raw) },
	},
	pathGiven: {
		doc: "the sentence, where it says more than that something is unknown, or than the code does", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) {
			fixed := slices.ContainsFunc(s.entry.message, func(t *template) bool { return t.constant() && t.literal() == s.e.Message })
			return s.e.Message, s.e.Message != "" && s.e.Message != recourse.KindUnknown.Sentence() && !fixed
		},
		set: func(e *recourse.Error, _ string, raw []byte) bool { return setString(&e.Message, raw) },
	},
	"code.name": {
		doc: "what a code that is a number is called", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) { return s.entry.name, s.entry.name != "" && !s.ranged() },
	},
	"code.group": {
		doc: "the group of the code", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) {
			if r := s.c.rangeOf(s.e.Code); r != nil && s.ranged() {
				return r.name, true
			}
			return s.entry.group, s.entry.group != ""
		},
	},
	"code.number": {
		doc: "the code as a number", kind: contractform.TypeInteger,
		get: func(s *subject, _ string) (any, bool) {
			n, err := strconv.ParseInt(s.e.Code, 10, 64)
			return n, err == nil
		},
		set: func(e *recourse.Error, _ string, raw []byte) bool {
			n, err := strconv.ParseInt(string(raw), 10, 64)
			e.Code = strconv.FormatInt(n, 10)
			return err == nil
		},
	},
	"retryable": {
		doc: "whether the same call may succeed, as the contract says", kind: contractform.TypeBoolean,
		get: func(s *subject, _ string) (any, bool) { return s.retryable(), true },
	},
	"after": {
		doc: "the minimum wait, for a person", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) { return recourse.FormatWait(s.e.RetryAfter), s.e.RetryAfter > 0 },
	},
	pathSeconds: {
		doc: "the minimum wait in whole seconds, rounded up", kind: contractform.TypeNumber,
		get: func(s *subject, _ string) (any, bool) { return seconds(s.e.RetryAfter), s.e.RetryAfter > 0 },
		set: func(e *recourse.Error, _ string, raw []byte) bool {
			f, err := strconv.ParseFloat(string(raw), 64)
			e.RetryAfter = clean.Wait(f)
			return err == nil
		},
	},
	"verify.call": {
		doc: "the call that settles an unknown effect, spelled out", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) {
			if s.e.Verify == nil || !s.call.hasTool(s.e.Verify.Tool) {
				return nil, false
			}
			return s.c.callText(s.e.Verify), true
		},
	},
	"call.arguments.": {
		doc: "an argument of the call, spelled as in a call, unless it is secret or long", kind: contractform.TypeString,
		argument: "NAME",
		takes:    clean.IsWord,
		get: func(s *subject, name string) (any, bool) {
			value := s.call.argument("/" + name)
			return s.c.literal(value), value != nil
		},
	},
	"text.": {
		doc: "a text among the details", kind: contractform.TypeString,
		argument: "NAME",
		takes:    clean.IsWord,
		get:      func(s *subject, name string) (any, bool) { return json.TextOf(json.Value(s.e.Details[name])) },
		set: func(e *recourse.Error, name string, raw []byte) bool {
			text, ok := json.TextOf(raw)
			if ok && text != "" {
				*e = *e.WithDetail(name, text)
			}
			return ok
		},
	},
	"call.tool": {
		doc: "the tool that was called", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) { return s.call.Tool, s.call.Tool != "" },
	},
	"call.url": {
		doc: "the URL of the request", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) { return s.call.URL, s.call.URL != "" },
	},
	"http.title": {
		doc: "the text of the HTTP status, in lower case", kind: contractform.TypeString,
		get: func(s *subject, _ string) (any, bool) {
			if s.entry == nil || s.entry.http == nil {
				return nil, false
			}
			return strings.ToLower(http.StatusText(s.entry.http.status)), true
		},
	},
	"quota.": {
		doc:      "a member of that policy's quota: limit, remaining, resetAtMs (milliseconds since 1970)",
		kind:     contractform.TypeInteger,
		argument: "POLICY.MEMBER",
		takes: func(arg string) bool {
			policy, member, _ := strings.Cut(arg, ".")
			return policy != "" && slices.Contains([]string{quotaLimit, quotaRemaining, quotaResetAtMs}, member)
		},
		get: quotaMember,
		set: setQuotaMember,
	},
}

// pathSeconds is the path of the wait in seconds.
const pathSeconds = "after.seconds"

// lastInstant is the end of the year 9999, the last that RFC 3339 can express, in milliseconds since 1970.
const lastInstant = 253_402_300_799_999

// The properties of a quota.
const (
	quotaLimit     = "limit"
	quotaRemaining = "remaining"
	quotaResetAtMs = "resetAtMs"
)

func findComputed(name string) *computed {
	if s, ok := computedMembers[name]; ok {
		s.name = name
		return &s
	}
	for prefix, s := range computedMembers {
		arg, ok := strings.CutPrefix(name, prefix)
		if ok && s.takes != nil && s.takes(arg) {
			s.name, s.arg = prefix, arg
			return &s
		}
	}
	return nil
}

func setString(to *string, raw []byte) bool {
	text, ok := json.TextOf(raw)
	*to = text
	return ok
}

// seconds rounds up: a wait is a minimum.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

func quotaMember(s *subject, arg string) (any, bool) {
	policy, member, _ := strings.Cut(arg, ".")
	for i, q := range s.e.Quotas {
		if q.Policy != policy {
			continue
		}
		switch member {
		case quotaLimit:
			return q.Limit, q.Limit > 0
		case quotaRemaining:
			return q.Remaining, true
		default:
			if i == 0 && s.e.RetryAfter > 0 && q.ResetAt.IsZero() { // the binding quota is reset when the wait ends
				return s.call.now().Add(time.Duration(seconds(s.e.RetryAfter)) * time.Second).UnixMilli(), true
			}
			return q.ResetAt.UnixMilli(), !q.ResetAt.IsZero()
		}
	}
	return nil, false
}

func setQuotaMember(e *recourse.Error, arg string, raw []byte) bool {
	policy, member, _ := strings.Cut(arg, ".")
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || member == quotaResetAtMs && (n < 0 || n > lastInstant) {
		return false
	}
	at := -1
	for i := range e.Quotas {
		if e.Quotas[i].Policy == policy {
			at = i
		}
	}
	if at < 0 {
		at = len(e.Quotas)
		e.Quotas = append(e.Quotas, recourse.Quota{Policy: policy})
	}
	switch q := &e.Quotas[at]; member {
	case quotaLimit:
		q.Limit = n
	case quotaRemaining:
		q.Remaining = n
	default:
		q.ResetAt = time.UnixMilli(n).UTC()
	}
	return true
}
