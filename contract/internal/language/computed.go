package language

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Computed is the end of a path to something that is not stored in the record, but follows from the record, its
// entry in the contract, and the call.
type Computed struct {
	Name Name
	Arg  string // if the name ends in a dot
	Type string // JSON type of its value

	doc string
	// A name that ends in a dot takes an argument: argument is how the documentation shows it, and takes
	// reports whether a text is valid as one.
	argument string
	takes    func(arg string) bool
	// set stores the value in the record; nil if the record holds it elsewhere.
	set func(e *recourse.Error, arg string, raw []byte) bool
}

// secondsIn reads seconds: a number, or a text with a number or a duration such as 90s.
func secondsIn(raw json.Value) (seconds float64, ok bool) {
	number, isText := json.TextOf(raw)
	if !isText {
		number = string(raw)
	}
	if seconds, err := strconv.ParseFloat(number, 64); err == nil {
		return seconds, true
	}
	wait, err := time.ParseDuration(number)
	return wait.Seconds(), isText && err == nil
}

// A Name is a computed path, without its argument.
type Name string

// The computed paths.
const (
	Message       Name = "message" // the sentence
	MessageGiven  Name = "message.given"
	CodeName      Name = "code.name"
	CodeGroup     Name = "code.group"
	CodeNumber    Name = "code.number"
	Retryable     Name = "retryable"
	After         Name = "after"
	AfterSeconds  Name = "after.seconds"
	VerifyCall    Name = "verify.call"
	CallArguments Name = "call.arguments."
	DetailText    Name = "text."
	CallTool      Name = "call.tool"
	CallURL       Name = "call.url"
	HTTPTitle     Name = "http.title"
	QuotaMember   Name = "quota."
)

var computedMembers = map[Name]Computed{
	Message: {
		doc: "the sentence, in the form that the code gives it", Type: contractform.TypeString, set: setMessage,
	},
	MessageGiven: {
		doc:  "the sentence, where it says more than that something is unknown, or than the code does",
		Type: contractform.TypeString, set: setMessage,
	},
	CodeName:  {doc: "what a code that is a number is called", Type: contractform.TypeString},
	CodeGroup: {doc: "the group of the code", Type: contractform.TypeString},
	CodeNumber: {
		doc: "the code as a number", Type: contractform.TypeInteger,
		set: func(e *recourse.Error, _ string, raw []byte) bool {
			n, err := strconv.ParseInt(string(raw), 10, 64)
			e.Code = strconv.FormatInt(n, 10)
			return err == nil
		},
	},
	Retryable: {doc: "whether the same call may succeed, as the contract says", Type: contractform.TypeBoolean},
	After:     {doc: "the minimum wait, for a person", Type: contractform.TypeString},
	AfterSeconds: {
		doc: "the minimum wait in whole seconds, rounded up", Type: contractform.TypeNumber,
		set: func(e *recourse.Error, _ string, raw []byte) bool {
			seconds, ok := secondsIn(raw)
			e.RetryAfter = clean.Wait(seconds)
			return ok
		},
	},
	VerifyCall: {doc: "the call that settles an unknown effect, spelled out", Type: contractform.TypeString},
	CallArguments: {
		doc:  "an argument of the call, spelled as in a call, unless it is secret or long",
		Type: contractform.TypeString, argument: "NAME", takes: clean.IsWord,
	},
	DetailText: {
		doc: "a text among the details", Type: contractform.TypeString, argument: "NAME", takes: clean.IsWord,
		set: func(e *recourse.Error, name string, raw []byte) bool {
			text, ok := json.TextOf(raw)
			if ok && text != "" {
				*e = *e.WithDetail(name, text)
			}
			return ok
		},
	},
	CallTool:  {doc: "the tool that was called", Type: contractform.TypeString},
	CallURL:   {doc: "the URL of the request", Type: contractform.TypeString},
	HTTPTitle: {doc: "the text of the HTTP status, in lower case", Type: contractform.TypeString},
	QuotaMember: {
		doc:      "a member of that policy's quota: limit, remaining, resetAtMs (milliseconds since 1970)",
		Type:     contractform.TypeInteger,
		argument: "POLICY.MEMBER",
		takes: func(arg string) bool {
			policy, member, _ := strings.Cut(arg, ".")
			return policy != "" && slices.Contains([]string{QuotaLimit, QuotaRemaining, quotaResetAtMs}, member)
		},
		set: setQuotaMember,
	},
}

// The members of a quota, besides the time of its reset.
const (
	QuotaLimit     = "limit"
	QuotaRemaining = "remaining"
	quotaResetAtMs = "resetAtMs"
)

// lastInstant is the end of the year 9999, the last that RFC 3339 can express, in milliseconds since 1970.
const lastInstant = 253_402_300_799_999

// ComputedPaths describes the computed paths, by name.
func ComputedPaths() []contractform.Computed {
	var list []contractform.Computed
	for _, name := range slices.Sorted(maps.Keys(computedMembers)) {
		c := computedMembers[name]
		list = append(list, contractform.Computed{Path: string(name) + c.argument, Type: c.Type, Doc: c.doc})
	}
	return list
}

func findComputed(name string) *Computed {
	if c, ok := computedMembers[Name(name)]; ok {
		c.Name = Name(name)
		return &c
	}
	for prefix, c := range computedMembers {
		arg, ok := strings.CutPrefix(name, string(prefix))
		if ok && c.takes != nil && c.takes(arg) {
			c.Name, c.Arg = prefix, arg
			return &c
		}
	}
	return nil
}

func setMessage(e *recourse.Error, _ string, raw []byte) bool {
	text, ok := json.TextOf(raw)
	e.Message = text
	return ok
}

// SayRetryable stores the boolean from the wire. A plain false carries less than a kind that names a way out.
func SayRetryable(e *recourse.Error, retryable bool) {
	switch {
	case retryable:
		e.Retry = recourse.RetrySameCall
	case e.Kind.Retry() == recourse.RetrySameCall:
		e.Retry = recourse.RetryNever
	}
}

// Seconds rounds a wait up: it is a minimum.
func Seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

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
	case QuotaLimit:
		q.Limit = n
	case QuotaRemaining:
		q.Remaining = n
	default:
		q.ResetAt = time.UnixMilli(n).UTC()
	}
	return true
}
