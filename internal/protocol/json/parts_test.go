package json_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Parts are slices of the text, in its order, including duplicates.
func TestParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` {"a": 1 , "b":{"c":[2]},"a":"x\"y"} `: `a=1 b={"c":[2]} a="x\"y"`,
		`[ 1,{"a":2} , [3]]`:                    `=1 ={"a":2} =[3]`,
		`{}`:                                    ``,
		`"text"`:                                ``,
		"{\"\xff\":\"\xff\"}":                   "\uFFFD=\"\xff\"",
		`{"a":1`:                                `error`,
		`{"a":1} 2`:                             `error`,
		``:                                      `error`,
	} {
		var got []string
		err := json.Parts(json.Value(text), func(name string, part json.Value) { got = append(got, fmt.Sprintf("%s=%s", name, part)) })
		if err != nil {
			got = []string{"error"}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
