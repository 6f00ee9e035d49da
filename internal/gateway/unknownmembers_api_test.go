package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// bodies draws the HTTP answers of an API that tells of a failure in a contract's form, in each way in which services put it
// into a body.
func bodies(name string) *rapid.Generator[failureWithMarks] {
	return rapid.Custom(func(t *rapid.T) failureWithMarks {
		f := unknowns(name).Draw(t, "failure")
		object := json.Lookup(json.Value(f.result), "/structuredContent")
		switch name {
		case "commerce":
			object = json.Lookup(json.Value(f.result), "/error")
		case "studies":
			object = json.Value(json.Text(json.Value(f.result), "/content/0/text"))
		}
		forms := []string{string(object), f.result, `{"jsonrpc":"2.0","id":7,"result":` + f.result + `}`}
		if name != "studies" && name != "recourse" {
			forms = append(forms, `{"detail":`+string(object)+`,"beside":"`+f.mark()+`"}`)
		}
		if name == "commerce" || name == "fieldmcp" {
			forms = append(forms, `{"error":`+strings.Replace(string(object), `"error":true,`, "", 1)+`,"beside":["`+f.mark()+`"]}`)
		}
		if name == "studies" {
			envelope := string(object[strings.Index(string(object), "{"):])
			forms = append(forms, `{"message":"No.","envelope":`+envelope+`,"beside":{"x":"`+f.mark()+`"}}`,
				`{"error_code":"my_code","message":"No.","beside":"`+f.mark()+`"}`, `{"detail":`+inJSON(string(object))+`,"beside":"`+f.mark()+`"}`)
		}
		f.result = rapid.SampledFrom(forms).Draw(t, "body")
		f.marks = slices.DeleteFunc(f.marks, func(mark string) bool {
			return !strings.Contains(f.result, mark+`"`) && !strings.Contains(f.result, mark+`\"`)
		})
		return f
	})
}

// mark adds a value that has to be found again.
func (f *failureWithMarks) mark() string {
	f.marks = append(f.marks, fmt.Sprintf("mark-%d", len(f.marks)))
	return f.marks[len(f.marks)-1]
}

// Members that a contract does not know survive from the body of an HTTP API as well, whatever its status.
func TestUnknownMembersSurviveFromAPIs(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"fieldmcp", "commerce", "patterns", "studies", "recourse"} {
		for _, to := range []string{from, "recourse"} {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				var sent atomic.Pointer[func(http.ResponseWriter)]
				p := startProvider(t, func(w http.ResponseWriter, _ *http.Request) { (*sent.Load())(w) })
				keys := []string{"contract: " + to}
				if to != from {
					keys = append(keys, "reads: "+from)
				}
				client := startAPI(t, p, ordersDescription, keys...).client(t, testkit.Modern)
				rapid.Check(t, func(t *rapid.T) {
					f := bodies(from).Draw(t, "failure")
					status := rapid.SampledFrom([]int{400, 403, 404, 409, 418, 422, 429, 500, 501, 503, 504}).Draw(t, "status")
					answer := func(w http.ResponseWriter) { writeJSON(w, status, f.result) }
					sent.Store(&answer)
					a, err := client.Call(context.Background(), "orders_create", `{"item":"hay"}`)
					if err != nil || a.Message == nil {
						t.Fatalf("HTTP %d %s\ngot %+v, %v", status, f.result, a, err)
					}
					has(t, f, string(a.Body))
				})
			})
		}
	}
}
