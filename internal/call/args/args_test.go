package args_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/args"
)

func compile(tb testing.TB, schema string) *args.Schema {
	tb.Helper()
	s, err := args.Compile([]byte(schema), nil)
	if err != nil {
		tb.Fatalf("Compile(%s): %v", schema, err)
	}
	return s
}

// lines formats violations for comparison.
func lines(violations []recourse.Violation) []string {
	var out []string
	for _, v := range violations {
		line := v.Pointer + " " + v.Rule + ": " + v.Message
		if v.Got != nil {
			line += " | got " + string(v.Got)
		}
		out = append(out, line)
	}
	return out
}

const orderSchema = `{
	"type": "object",
	"properties": {
		"order": {"$ref": "#/$defs/order"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100},
		"status": {"enum": ["open", "closed"]},
		"since": {"type": "string", "format": "date"},
		"password": {"type": "string", "minLength": 8},
		"note": {"type": ["string", "null"], "maxLength": 5}
	},
	"required": ["order"],
	"additionalProperties": false,
	"$defs": {
		"order": {
			"type": "object",
			"properties": {
				"items": {"type": "array", "minItems": 1, "items": {
					"type": "object",
					"properties": {"sku": {"type": "string", "pattern": "^[A-Z]"}, "count": {"type": "number", "multipleOf": 0.5}},
					"required": ["sku"]
				}},
				"a/b~c": {"type": "boolean"}
			},
			"required": ["items"]
		}
	}
}`

func TestCheck(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		schema, args string
		want         []string
		kind         recourse.Kind
	}{
		"valid": {
			schema: orderSchema, args: `{"order":{"items":[{"sku":"A","count":1.5}]},"limit":1e2,"note":null}`,
		},
		"one of a list: of another type, and missing": {
			schema: `{"properties":{"mode":{"type":"string","enum":["append","overwrite"]},"sort":{"type":"string","enum":["up","down"]}},
				"required":["mode","sort"]}`,
			args: `{"mode":["append"]}`,
			want: []string{
				`/mode type: mode must be one of "append", "overwrite" | got ["append"]`,
				`/sort required: sort is required (one of "up", "down")`,
			},
			kind: recourse.KindMissingParam,
		},
		"missing, and given by another name": {
			schema: `{"properties":{"path":{"type":"string"},"sheet":{},"at":{},"rows":{},"links":{}},"required":["path","at"]}`, args: `{"filepath":"a.xlsx","sheet":"A","start":1}`,
			want: []string{"/at required: at is required, and filepath is not a known parameter " +
				"(known and not given: at, links, path and rows), and start is not a known parameter", "/path required: path is required"},
			kind: recourse.KindMissingParam,
		},
		"missing, beside what the schema lets through": {
			schema: `{"properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":true}`, args: `{"filepath":"a.xlsx"}`,
			want: []string{"/path required: path is required"}, kind: recourse.KindMissingParam,
		},
		"missing, beside what a branch knows": {
			schema: `{"properties":{"path":{}},"required":["path"],"anyOf":[{"properties":{"filepath":{}}}]}`, args: `{"filepath":"a.xlsx"}`,
			want: []string{"/path required: path is required"}, kind: recourse.KindMissingParam,
		},
		"no arguments at all": {
			schema: orderSchema, args: ``,
			want: []string{"/order required: order is required"}, kind: recourse.KindMissingParam,
		},
		"everything at once": {
			schema: orderSchema,
			args: `{"order":{"items":[{"sku":"A"},{"sku":"a","count":0.3},{}],"a/b~c":1},"limit":101,"staus":"open",` +
				`"status":"done","since":"31.1.2026","password":"hunter2","note":"äöüßéè"}`,
			want: []string{
				"/limit maximum: limit must be at most 100 | got 101",
				`/note maxLength: note must have at most 5 characters | got "äöüßéè"`,
				"/order/a~1b~0c type: order.a/b~c must be a boolean | got 1",
				"/order/items/1/count multipleOf: order.items.1.count must be a multiple of 0.5 | got 0.3",
				`/order/items/1/sku pattern: order.items.1.sku must match the pattern ^[A-Z] | got "a"`,
				"/order/items/2/sku required: order.items.2.sku is required",
				"/password minLength: password must have at least 8 characters",
				`/since format: since must be an ISO 8601 date (format date) | got "31.1.2026"`,
				`/status enum: status must be one of "open", "closed" | got "done"`,
				`/staus additionalProperties: staus is not a known parameter | got "open"`,
			},
			kind: recourse.KindMissingParam,
		},
		"the wrong type": {
			schema: orderSchema, args: `{"order":{"items":{}},"limit":"7","note":1.5}`,
			want: []string{
				`/limit type: limit must be an integer | got "7"`,
				"/note type: note must be null or a string | got 1.5",
				"/order/items type: order.items must be an array | got {}",
			},
			kind: recourse.KindInvalidType,
		},
		"arguments as a text": {
			schema: orderSchema, args: `[1]`,
			want: []string{" type: the arguments must be an object | got [1]"}, kind: recourse.KindInvalidType,
		},
		"a misspelt parameter": {
			schema: `{"properties":{"maxResults":{},"query":{}},"additionalProperties":false}`,
			args:   `{"max_results":5,"qurey":"x","zzz":1}`,
			want: []string{
				"/max_results additionalProperties: max_results is not a known parameter (did you mean maxResults?) | got 5",
				`/qurey additionalProperties: qurey is not a known parameter (did you mean query?) | got "x"`,
				"/zzz additionalProperties: zzz is not a known parameter (known and not given: maxResults and query) | got 1",
			},
			kind: recourse.KindUnknownParam,
		},
		"an unknown parameter of composed schemas": {
			schema: `{"allOf":[{"properties":{"city":{}}},{"$ref":"#/$defs/d"}],"unevaluatedProperties":false,"$defs":{"d":{"properties":{"days":{}}}}}`,
			args:   `{"city":"Bonn","day":3}`,
			want: []string{
				"/day unevaluatedProperties: day is not a known parameter (did you mean days?) | got 3",
			},
			kind: recourse.KindUnknownParam,
		},
		"two that exclude each other, by not": {
			schema: `{"properties":{"a":{},"b":{}},"not":{"required":["a","b"]}}`, args: `{"a":1,"b":2}`,
			want: []string{"/a not: a and b exclude each other | got 1"}, kind: recourse.KindConflictingParams,
		},
		"two that exclude each other, by oneOf": {
			schema: `{"oneOf":[{"required":["id"]},{"required":["name"]}]}`, args: `{"id":1,"name":"x"}`,
			want: []string{"/id oneOf: id and name exclude each other | got 1"}, kind: recourse.KindConflictingParams,
		},
		"neither of two": {
			schema: `{"oneOf":[{"required":["id"]},{"required":["name"]}]}`, args: `{}`,
			want: []string{"/id required: exactly one of id, name is required"}, kind: recourse.KindMissingParam,
		},
		"none of several": {
			schema: `{"anyOf":[{"required":["id"]},{"required":["name","city"]}]}`, args: `{}`,
			want: []string{"/id required: one of id, city with name is required"}, kind: recourse.KindMissingParam,
		},
		"a forbidden one": {
			schema: `{"if":{"properties":{"all":{"const":true}},"required":["all"]},"then":{"not":{"required":["id"]}}}`, args: `{"all":true,"id":1}`,
			want: []string{"/id not: id is not allowed here"}, kind: recourse.KindConflictingParams,
		},
		"one that needs another": {
			schema: `{"dependentRequired":{"card":["address"]}}`, args: `{"card":1}`,
			want: []string{"/address dependentRequired: address is required when card is given"}, kind: recourse.KindConflictingParams,
		},
		"one that needs another, as draft 7 says it": {
			schema: `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"card":["address"]}}`, args: `{"card":1}`,
			want: []string{"/address dependentRequired: address is required when card is given"}, kind: recourse.KindConflictingParams,
		},
		"a value instead of a constant": {
			schema: `{"properties":{"to":{"not":{"const":"me"}}}}`, args: `{"to":"me"}`,
			want: []string{`/to not: to must be anything but "me" | got "me"`}, kind: recourse.KindInvalidValue,
		},
		"a value of several forms": {
			schema: `{"properties":{"n":{"oneOf":[{"type":"number"},{"multipleOf":2}]}}}`, args: `{"n":4}`,
			want: []string{"/n oneOf: n must match exactly one of the allowed forms | got 4"}, kind: recourse.KindInvalidValue,
		},
		"an optional value of the wrong type": {
			schema: `{"properties":{"since":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}}}`, args: `{"since":7}`,
			want: []string{"/since type: since must be a string or null | got 7"}, kind: recourse.KindInvalidType,
		},
		"an optional value of the right type": {
			schema: `{"properties":{"since":{"anyOf":[{"type":"null"},{"type":"string","format":"date"}]}}}`, args: `{"since":"x"}`,
			want: []string{`/since format: since must be an ISO 8601 date (format date) | got "x"`}, kind: recourse.KindInvalidValue,
		},
		"constants in place of an enum": {
			schema: `{"properties":{"s":{"anyOf":[{"const":"a"},{"const":"b"},{"type":"null"}]}}}`, args: `{"s":"c"}`,
			want: []string{`/s anyOf: s must be "a", "b" or null | got "c"`}, kind: recourse.KindInvalidValue,
		},
		"the branch with the right constant": {
			schema: `{"oneOf":[
				{"properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
				{"properties":{"kind":{"const":"box"},"width":{"type":"number"},"height":{"type":"number"}},"required":["kind","width","height"]}]}`,
			args: `{"kind":"box","radius":1}`,
			want: []string{"/height required: height is required", "/width required: width is required"}, kind: recourse.KindMissingParam,
		},
		"a forbidden name": {
			schema: `{"propertyNames":{"pattern":"^[a-z]+$"}}`, args: `{"Ab":1}`,
			want: []string{"/Ab propertyNames: Ab is not an allowed name"}, kind: recourse.KindInvalidValue,
		},
		"lists": {
			schema: `{"properties":{"u":{"uniqueItems":true},"t":{"prefixItems":[{},{"type":"string"}],"items":false},
				"c":{"contains":{"type":"number"}},"m":{"contains":{"const":1},"maxContains":1}}}`,
			args: `{"u":[1,2,1.0],"t":[1,2,3],"c":["x"],"m":[1,1]}`,
			want: []string{
				`/c contains: c must have at least 1 item that is a number | got ["x"]`,
				"/m maxContains: m must have at most 1 item that is 1 | got [1,1]",
				"/t items: t must have fewer items | got [1,2,3]",
				"/t/1 type: t.1 must be a string | got 2",
				"/u uniqueItems: u must have no item twice | got [1,2,1.0]",
			},
			kind: recourse.KindInvalidType,
		},
		"numbers are exact": {
			schema: `{"properties":{"id":{"const":9007199254740993},"n":{"exclusiveMinimum":0.1,"exclusiveMaximum":1e30},"big":{"type":"integer","maximum":5}}}`,
			args:   `{"id":9007199254740992,"n":0.10,"big":1e999999999}`,
			want: []string{
				"/big maximum: big must be at most 5 | got 1e999999999",
				"/id const: id must be 9007199254740993 | got 9007199254740992",
				"/n exclusiveMinimum: n must be greater than 0.1 | got 0.10",
			},
			kind: recourse.KindInvalidValue,
		},
		"a pattern beyond Go's syntax passes, the rest is checked": {
			schema: `{"properties":{"p":{"pattern":"^(?=.*\\d).+$","maxLength":3},"q":{"pattern":"^\\u00e4\\/$"}}}`,
			args:   `{"p":"long","q":"ä"}`,
			want: []string{
				`/p maxLength: p must have at most 3 characters | got "long"`,
				`/q pattern: q must match the pattern ^\u00e4\/$ | got "ä"`,
			},
			kind: recourse.KindInvalidValue,
		},
		"older forms without a $schema": {
			schema: `{"properties":{"t":{"items":[{"type":"string"}],"additionalItems":false}}}`, args: `{"t":[1,2]}`,
			want: []string{"/t items: t must have fewer items | got [1,2]", "/t/0 type: t.0 must be a string | got 1"}, kind: recourse.KindInvalidType,
		},
		"a recursive schema": {
			schema: `{"$ref":"#/$defs/node","$defs":{"node":{"properties":{"kids":{"items":{"$ref":"#/$defs/node"}},"n":{"type":"integer"}}}}}`,
			args:   `{"kids":[{"kids":[{"n":"x"}]}]}`,
			want:   []string{`/kids/0/kids/0/n type: kids.0.kids.0.n must be an integer | got "x"`}, kind: recourse.KindInvalidType,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := compile(t, test.schema).Check(context.Background(), []byte(test.args))
			if diff := cmp.Diff(test.want, lines(got)); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			if len(got) > 0 && args.Kind(got) != test.kind {
				t.Errorf("kind %s, want %s", args.Kind(got), test.kind)
			}
		})
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()

	const value = "hunter2-hunter2"
	schemas := map[string]string{
		"writeOnly":                   `{"properties":{"p":{"maxLength":3,"writeOnly":true}}}`,
		"format password":             `{"properties":{"p":{"maxLength":3,"format":"password"}}}`,
		"beside the rule":             `{"properties":{"p":{"allOf":[{"maxLength":3},{"writeOnly":true}]}}}`,
		"above the rule":              `{"properties":{"p":{"writeOnly":true,"allOf":[{"maxLength":3}]}}}`,
		"in another place":            `{"allOf":[{"properties":{"p":{"maxLength":3}}},{"properties":{"p":{"writeOnly":true}}}]}`,
		"behind a reference":          `{"properties":{"p":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"integer","writeOnly":true}}}`,
		"a value with a secret in it": `{"maxProperties":0,"properties":{"p":{"writeOnly":true}}}`,
	}
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hides(t, compile(t, schema).Check(context.Background(), []byte(`{"p":"`+value+`"}`)), value)
		})
	}
	for _, name := range []string{"password", "apiKey", "X-API-KEY", "client_secret", "Authorization", "credentials"} {
		t.Run("named "+name, func(t *testing.T) {
			t.Parallel()
			s := compile(t, `{"properties":{"a":{"additionalProperties":{"type":"integer"}},"b":{"items":{"maxProperties":0}}}}`)
			hides(t, s.Check(context.Background(), []byte(`{"a":{"`+name+`":"`+value+`"},"b":[{"`+name+`":["`+value+`"]}]}`)), value)
		})
	}
}

func hides(t *testing.T, violations []recourse.Violation, value string) {
	t.Helper()
	if len(violations) == 0 {
		t.Error("no violation")
	}
	for _, v := range violations {
		if v.Got != nil || strings.Contains(v.Message+v.Want, value) {
			t.Errorf("shows the secret: %s", lines([]recourse.Violation{v}))
		}
	}
}

func TestGotIsShort(t *testing.T) {
	t.Parallel()

	s := compile(t, `{"additionalProperties":{"type":"boolean"}}`)
	for _, value := range []string{
		`"` + strings.Repeat("x", 500) + `"`, `"` + strings.Repeat(`\u0001`, 500) + `"`, `"` + strings.Repeat("ä", 500) + `"`,
		`[` + strings.Repeat("1, ", 100) + `1]`, strings.Repeat("1", 500), `{"a":"` + strings.Repeat("x", 130) + `"}`,
	} {
		got := s.Check(context.Background(), []byte(`{"v":`+value+`}`))[0].Got
		if n := len([]rune(string(got))); n > 128 {
			t.Errorf("shows %d characters of %s: %s", n, value, got)
		}
		if !json.Valid(got) || !strings.Contains(string(got), "…") {
			t.Errorf("%s is shown as %s", value, got)
		}
	}
	for value, want := range map[string]string{
		`[` + strings.Repeat(`"FLD-100", `, 19) + `"FLD-100"]`: `["FLD-100","FLD-100","FLD-100","FLD-100","FLD-100","FLD-100","FLD-100","FLD-100","FLD-100","FLD-100","… and 10 more"]`,
		`["` + strings.Repeat("x", 500) + `", 1]`:              `["a list of 2 items…"]`,
		`{"a": "` + strings.Repeat("x", 500) + `"}`:            `"an object with 1 member…"`,
		`{"a": [` + strings.Repeat("1,", 99) + `1], "b": 1}`:   `"an object with 2 members…"`,
	} {
		if got := s.Check(context.Background(), []byte(`{"v":`+value+`}`))[0].Got; string(got) != want {
			t.Errorf("%s is shown as %s", value, got)
		}
	}
}

func TestOrderAndBound(t *testing.T) {
	t.Parallel()

	s := compile(t, `{"additionalProperties":{"type":"integer"},"required":["zz"]}`)
	var members []string
	for i := range 100 {
		members = append(members, `"k`+string(rune('a'+i%26))+strings.Repeat("x", i/26)+`":"v"`)
	}
	got := s.Check(context.Background(), []byte(`{`+strings.Join(members, ",")+`}`))
	if len(got) != 20 {
		t.Errorf("%d violations, want 20", len(got))
	}
	sorted := slices.IsSortedFunc(got, func(x, y recourse.Violation) int { return strings.Compare(x.Pointer, y.Pointer) })
	if !sorted || got[0].Pointer != "/ka" {
		t.Errorf("violations are not the first by pointer: %s", strings.Join(lines(got), "\n"))
	}
}

func TestError(t *testing.T) {
	t.Parallel()

	violations := compile(t, orderSchema).Check(context.Background(), []byte(`{"limit":0,"status":1}`))
	e := args.Error("order_create", violations)
	if !errors.Is(e, recourse.KindMissingParam) || e.Origin != recourse.OriginCaller || e.Effect != recourse.EffectNone {
		t.Errorf("got kind %s, origin %s, effect %s", e.Kind, e.Origin, e.Effect)
	}
	want := []string{
		"/order required: order is required",
		"/limit minimum: limit must be at least 1 | got 0",
		`/status enum: status must be one of "open", "closed" | got 1`,
	}
	if diff := cmp.Diff(want, lines(e.Violations)); diff != "" {
		t.Errorf("the deciding violation is not the first (-want +got):\n%s", diff)
	}
	message := `order is required; limit must be at least 1; status must be one of "open", "closed".`
	if e.Message != message {
		t.Errorf("message %q, want %q", e.Message, message)
	}
	if violations[0].Param != "limit" {
		t.Error("Error changed the violations that it was given")
	}
}

func TestErrorMessageIsBounded(t *testing.T) {
	t.Parallel()

	var violations []recourse.Violation
	for range 20 {
		violations = append(violations, recourse.Violation{Rule: "type", Message: strings.Repeat("x", 100)})
	}
	message := args.Error("", violations).Message
	if len(message) > 1100 || !strings.HasSuffix(message, "; and 11 more violations.") {
		t.Errorf("message of %d bytes ends in %q", len(message), message[len(message)-40:])
	}
}

func TestKindPrecedence(t *testing.T) {
	t.Parallel()

	rules := []string{"required", "type", "not", "maximum", "additionalProperties"}
	kinds := []recourse.Kind{
		recourse.KindMissingParam, recourse.KindInvalidType, recourse.KindConflictingParams,
		recourse.KindInvalidValue, recourse.KindUnknownParam,
	}
	for i := range rules {
		var violations []recourse.Violation
		for _, rule := range slices.Backward(rules[i:]) {
			violations = append(violations, recourse.Violation{Rule: rule})
		}
		if got := args.Kind(violations); got != kinds[i] {
			t.Errorf("Kind of %v = %s, want %s", rules[i:], got, kinds[i])
		}
	}
}

// A list that is too long to be examined is counted, and what follows it is still examined.
func TestLongList(t *testing.T) {
	t.Parallel()
	schema, err := args.Compile([]byte(`{"properties":{"ids":{"type":"array","maxItems":10},"all":{"contains":{"const":"x"}},"n":{"type":"integer"}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	list := "[" + strings.Repeat(`{"id":["a"]},`, 19999) + `"x"]`
	found := schema.Check(t.Context(), []byte(`{"ids":`+list+`,"all":`+list+`,"n":"x"}`))
	var said []string
	for _, v := range found {
		said = append(said, v.Pointer+" "+v.Rule)
	}
	if diff := cmp.Diff([]string{"/ids maxItems", "/n type"}, said); diff != "" {
		t.Fatalf("violations (-want +got):\n%s", diff)
	}
	if got := string(found[0].Got); !strings.HasSuffix(got, ` more"]`) && !strings.Contains(got, "20000 items") {
		t.Errorf("got %s", got)
	}
}

// A member with a default need not be given, though the schema requires it.
func TestRequiredWithDefault(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","required":["scale","to"],"properties":{"scale":{"type":"string","enum":["css","device"],"default":"css"},"to":{"type":"string"},
		"list":{"type":"array","items":{"type":"object","required":["n","m"],"properties":{"n":{"type":"number","default":0},"m":{"type":"number"}}}}}}`)
	for arguments, want := range map[string][]string{
		`{"to":"x"}`:                          {},
		`{"to":"x","scale":"inch"}`:           {"/scale enum"},
		`{}`:                                  {"/to required"},
		`{"to":"x","list":[{"m":1},{"n":2}]}`: {"/list/1/m required"},
	} {
		got := []string{}
		for _, v := range s.Check(t.Context(), []byte(arguments)) {
			got = append(got, v.Pointer+" "+v.Rule)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
}
