package json_test

import (
	stdjson "encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

type record struct {
	Code string     `json:"code"`
	Got  json.Value `json:"got,omitempty"`
	N    int        `json:"n,omitzero"`
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   any
		want string
	}{
		{"a map is sorted", map[string]int{"b": 2, "a": 1}, `{"a":1,"b":2}`},
		{"nothing is escaped for HTML", "<a&b>", `"<a&b>"`},
		{"a raw value keeps its digits", record{Code: "X", Got: json.Value(`12345678901234567890`)}, `{"code":"X","got":12345678901234567890}`},
		{"a nil slice is a list", []int(nil), `[]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Marshal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		pointer  json.Pointer
		offset   int64
		is       error
	}{
		{"a duplicate name", `{"code":"a","code":"b"}`, "/code", 12, json.ErrDuplicateName},
		{"invalid UTF-8", "{\"code\":\"\xff\"}", "/code", 9, nil},
		{"half of a surrogate pair", `{"code":"\ud800"}`, "/code", 9, nil},
		{"data after the text", `{} {}`, "", 3, nil},
		{"a wrong type", `{"code":1}`, "/code", 8, nil},
		{"an unfinished text", `{"code":`, "/code", 8, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var r record
			err := json.Unmarshal([]byte(tt.in), &r)
			if err == nil {
				t.Fatal("no error")
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v is not %v", err, tt.is)
			}
			pointer, offset, ok := json.Position(err)
			if !ok || pointer != tt.pointer || offset != tt.offset {
				t.Errorf("Position(%v) = %q, %d, %t; want %q, %d", err, pointer, offset, ok, tt.pointer, tt.offset)
			}
		})
	}
}

func TestUnmarshalIsCaseSensitive(t *testing.T) {
	t.Parallel()
	got := record{}
	if err := json.Unmarshal([]byte(`{"Code":"upper","code":"lower","other":1}`), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(record{Code: "lower"}, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	err := json.UnmarshalKnown([]byte(`{"Code":"upper"}`), &got)
	if !errors.Is(err, json.ErrUnknownName) {
		t.Errorf("UnmarshalKnown = %v, want ErrUnknownName", err)
	}
}

func TestUnmarshalLenient(t *testing.T) {
	t.Parallel()
	var got record
	if err := json.UnmarshalLenient([]byte("{\"code\":\"a\",\"code\":\"\xff\\ud800\"}"), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("\ufffd\ufffd", got.Code); diff != "" {
		t.Errorf("code (-want +got):\n%s", diff)
	}
}

func TestUnmarshalAny(t *testing.T) {
	t.Parallel()
	got, err := json.UnmarshalAny([]byte(`{"a":[12345678901234567890,1e2,"s",true,null],"b":-0}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": []any{stdjson.Number("12345678901234567890"), stdjson.Number("1e2"), "s", true, nil},
		"b": stdjson.Number("-0"),
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("UnmarshalAny (-want +got):\n%s", diff)
	}
	if _, err := json.UnmarshalAny([]byte(`{"a":1,"a":2}`)); !errors.Is(err, json.ErrDuplicateName) {
		t.Errorf("duplicate: %v", err)
	}
	if _, err := json.UnmarshalAny([]byte(`[1.]`)); err == nil {
		t.Error("accepted a broken number")
	}
}

func TestDecoder(t *testing.T) {
	t.Parallel()
	d := json.NewDecoder(strings.NewReader(`{"code":"a"} {"code":"b","code":"c"}`))
	if v, err := d.ReadValue(); err != nil || string(v) != `{"code":"a"}` {
		t.Errorf("got first value %s, %v", v, err)
	}
	if _, err := d.ReadValue(); !errors.Is(err, json.ErrDuplicateName) {
		t.Errorf("duplicate: %v", err)
	}
	d.Reset(strings.NewReader(`[]`))
	if v, err := d.ReadValue(); err != nil || string(v) != `[]` {
		t.Errorf("after Reset: %s, %v", v, err)
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	const src = `{ "b" : [1.0, "\u0041<"], "a" : {} }`
	compact, err := json.AppendCompact([]byte("x"), []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`x{"b":[1.0,"\u0041<"],"a":{}}`, string(compact)); diff != "" {
		t.Errorf("AppendCompact (-want +got):\n%s", diff)
	}
	indented, err := json.AppendIndent(nil, []byte(src), "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"b\": [\n    1.0,\n    \"\\u0041<\"\n  ],\n  \"a\": {}\n}"
	if diff := cmp.Diff(want, string(indented)); diff != "" {
		t.Errorf("AppendIndent (-want +got):\n%s", diff)
	}
	if got, err := json.AppendCompact([]byte("x"), []byte(`{]`)); err == nil || string(got) != "x" {
		t.Errorf("AppendCompact of invalid JSON = %q, %v", got, err)
	}
	if got := string(json.AppendQuote(nil, "a\"\n\xff")); got != "\"a\\\"\\n\ufffd\"" {
		t.Errorf("AppendQuote = %s", got)
	}
	if got, err := json.AppendUnquote([]byte("x"), `"\u0041\n"`); err != nil || string(got) != "xA\n" {
		t.Errorf("AppendUnquote = %q, %v", got, err)
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{`{"a":1}`: true, `1`: true, `{"a":1,"a":1}`: false, ``: false, `{}{}`: false} {
		if got := json.Valid([]byte(in)); got != want {
			t.Errorf("Valid(%q) = %t", in, got)
		}
	}
}
