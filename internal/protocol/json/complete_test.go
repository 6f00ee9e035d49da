package json_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1,"b":[1,2`:                  `{"a":1,"b":[1]}`,
		`{"a":1,"b":[1,2,`:                 `{"a":1,"b":[1,2]}`,
		`{"a":"on`:                         `{"a":"on"}`,
		`{"a":"on\`:                        `{"a":"on"}`,
		`{"a":"on\u00`:                     `{"a":"on"}`,
		`{"a":"on\ud83d`:                   `{"a":"on"}`,
		`{"a":"on\\`:                       `{"a":"on\\"}`,
		`{"a":"on\\u00`:                    `{"a":"on\\u00"}`,
		"{\"a\":\"on\xc3":                  `{"a":"on"}`,
		`{"a":1,"na`:                       `{"a":1}`,
		`{"a":1,"name"`:                    `{"a":1}`,
		`{"a":1,"name":`:                   `{"a":1}`,
		`{"a":1,"name": tr`:                `{"a":1}`,
		`{"a":{"b":[{"c":"x"},{"d":"y`:     `{"a":{"b":[{"c":"x"},{"d":"y"}]}}`,
		` {"a" : [ "x" , "y`:               ` {"a" : [ "x" , "y"]}`,
		`{"a":[]}`:                         `{"a":[]}`,
		`{`:                                `{}`,
		`"tex`:                             `"tex"`,
		``:                                 ``,
		`[}`:                               ``,
		`12`:                               ``,
		`{"a":"b","isError":true,"c":"x" `: `{"a":"b","isError":true,"c":"x"}`,
	} {
		if got := string(json.Complete([]byte(text))); strings.TrimRight(got, " ") != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Wherever a text is cut, the completed text is JSON and begins with the same bytes.
func FuzzComplete(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\n\u00e9\ud83d\ude00 \\ \" é😀"}],"isError":true,"n":-1.5e3,"x":null}}`,
		`[[],{},[{"a":[true,false,null]}],"",0]`,
	} {
		for i := range text {
			f.Add(text, i)
		}
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		if !json.Valid([]byte(text)) || at < 0 || at > len(text) {
			return
		}
		got := json.Complete([]byte(text[:at]))
		if got != nil && !json.Valid(got) {
			t.Errorf("%q is completed to %q", text[:at], got)
		}
		if trimmed := strings.TrimLeft(text[:at], " \t\r\n"); got == nil && trimmed != "" && strings.IndexByte(`{["`, trimmed[0]) >= 0 {
			t.Errorf("%q was not completed", text[:at])
		}
	})
}
