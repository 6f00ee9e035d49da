package json_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	same := func(_ string, v json.Value) json.Value { return v }
	set := func(name, value string) func(string, json.Value) json.Value {
		return func(n string, v json.Value) json.Value {
			if n != name {
				return v
			}
			if value == "" {
				return nil
			}
			return json.Value(value)
		}
	}
	more := json.Members{{Name: "z", Value: json.Value("1")}}
	for name, tt := range map[string]struct {
		object string
		change func(string, json.Value) json.Value
		more   json.Members
		want   string
	}{
		"as it is":                    {"{ \"a\" : 1e+25 ,\n\t\"b\":[ 1 , 2 ] }", same, nil, "{ \"a\" : 1e+25 ,\n\t\"b\":[ 1 , 2 ] }"},
		"one value":                   {`{"a" : 1 , "b": 2}`, set("b", "3"), nil, `{"a" : 1 , "b": 3}`},
		"left out":                    {`{"a":1,"b":2,"c":3}`, set("b", ""), nil, `{"a":1,"c":3}`},
		"all left out":                {`{"a":1}`, set("a", ""), nil, `{}`},
		"one more":                    {"{\n  \"a\": 1,\n  \"b\": 2\n}", same, more, "{\n  \"a\": 1,\n  \"b\": 2,\n  \"z\": 1\n}"},
		"one more that is there":      {`{"z":0}`, same, more, `{"z":0}`},
		"one more in an empty object": {`{}`, same, more, `{"z":1}`},
		"a repeated name":             {`{"a":1,"b":2,"a":3}`, same, nil, `{"b":2,"a":3}`},
		"an escaped name":             {`{"\u0061":1}`, set("a", "2"), nil, `{"\u0061":2}`},
		"an array":                    {`[1]`, same, more, `[1]`},
		"no JSON":                     {`{"a"`, same, more, `{"a"`},
	} {
		if got := string(json.Edit(json.Value(tt.object), tt.change, tt.more)); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

func TestEditItems(t *testing.T) {
	t.Parallel()
	second := func(i int, v json.Value) json.Value {
		if i == 1 {
			return json.Value("0")
		}
		return v
	}
	for array, want := range map[string]string{
		"[ 1 , 2 ,3\n]": "[ 1 , 0 ,3\n]", "[]": "[]", "[ ]": "[ ]", `{"a":1}`: `{"a":1}`, "[1,": "[1,",
	} {
		if got := string(json.EditItems(json.Value(array), second)); got != want {
			t.Errorf("%s: got %s, want %s", array, got, want)
		}
	}
}
