package contractform

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
)

// The JSON types of members.
const (
	TypeString  = "string"
	TypeNumber  = "number"
	TypeInteger = "integer"
	TypeBoolean = "boolean"
	TypeObject  = "object"
	TypeArray   = "array"
	TypeAny     = "any"
)

// recordMembers maps the members of the JSON form to the fields of the record.
var recordMembers = map[string]string{
	"kind": "Kind", "code": "Code", "contract": "Contract", "message": "Message", "hints": "Hints",
	"retry": "Retry", "afterMs": "RetryAfter", "effect": "Effect", "effectBasis": "EffectBasis",
	"verify": "Verify", "violations": "Violations",
	"resource": "Resource", "provider": "Provider", "missingScopes": "MissingScopes", "quotas": "Quotas",
	"succeeded": "Succeeded", "failed": "Failed", "missing": "Missing", "origin": "Origin",
	"upstream": "Upstream", "requestId": "RequestID", "details": "Details",
}

// RecordOrder returns these members in the order in which the record writes them. The list is shared: do not write into
// it.
var RecordOrder = sync.OnceValue(func() []string {
	var names []string
	for _, l := range Leaves(Everything(recourse.KindUnknown).WithCode("contract", "code")) {
		name, _, _ := strings.Cut(l.Path, ".")
		if recordMembers[name] != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
})

// quotaMembers does the same for a quota.
var quotaMembers = map[string]string{
	"policy": "Policy", "limit": "Limit", "windowMs": "Window", "remaining": "Remaining", "resetAt": "ResetAt",
	"partition": "Partition",
}

// The types of the record that paths and schemas treat differently.
var (
	ArgsType     = reflect.TypeFor[recourse.Args]()
	QuotaType    = reflect.TypeFor[recourse.Quota]()
	RecordType   = reflect.TypeFor[recourse.Error]()
	QuestionType = reflect.TypeFor[recourse.NeedsInput]()
	RawType      = reflect.TypeFor[json.RawMessage]()
	DurationType = reflect.TypeFor[time.Duration]()
	TimeType     = reflect.TypeFor[time.Time]()
)

// TypeOf names the JSON type of a type of the record.
func TypeOf(t reflect.Type) string {
	switch {
	case t == RawType:
		return TypeAny
	case t == ArgsType:
		return TypeObject
	case t == TimeType || t.Kind() == reflect.String:
		return TypeString
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return TypeString + "[]"
	case t.Kind() == reflect.Slice:
		return TypeArray
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return TypeInteger
	default:
		return TypeObject
	}
}

// FieldNamed returns the field of a struct of the record for the member of that name in
// the JSON form.
func FieldNamed(on reflect.Type, name string) (reflect.StructField, bool) {
	switch on {
	case RecordType:
		return on.FieldByName(recordMembers[name])
	case QuotaType:
		return on.FieldByName(quotaMembers[name])
	}
	for f := range on.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && f.IsExported() {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// Indirect returns what t points to, or t.
func Indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// WordsOf returns the words of a closed set, or nil.
func WordsOf(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[recourse.Kind]():
		return Kinds
	case reflect.TypeFor[recourse.Retry]():
		return Retries
	case reflect.TypeFor[recourse.Effect]():
		return Effects
	case reflect.TypeFor[recourse.Basis]():
		return Bases
	case reflect.TypeFor[recourse.Origin]():
		return Origins
	default:
		return nil
	}
}

// MembersOf returns the members of the JSON form of a struct of the record.
func MembersOf(t reflect.Type) []string {
	switch t {
	case RecordType:
		return RecordOrder()
	case QuotaType:
		return []string{"policy", "limit", "windowMs", "remaining", "resetAt", "partition"}
	}
	var names []string
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
			names = append(names, tag)
		}
	}
	return names
}

// The words that members of closed sets can have.
var (
	Kinds   = words(recourse.Kinds())
	Classes = words(recourse.Classes())
	Origins = words([]recourse.Origin{
		recourse.OriginCaller, recourse.OriginGateway, recourse.OriginServer, recourse.OriginProvider,
	})
	Effects = words([]recourse.Effect{recourse.EffectNone, recourse.EffectApplied, recourse.EffectUnknown})
	Bases   = words([]recourse.Basis{recourse.BasisKnown, recourse.BasisStated, recourse.BasisProfile})
	Retries = words([]recourse.Retry{
		recourse.RetrySameCall, recourse.RetryReRead, recourse.RetryAfterFix, recourse.RetryAfterAuth,
		recourse.RetryAfterSetup, recourse.RetryNever,
	})
)

func words[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, word := range list {
		texts[i] = string(word)
	}
	return texts
}
