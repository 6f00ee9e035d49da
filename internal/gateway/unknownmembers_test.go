package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/mcptool"
)

// unknowns draws failures in a contract's form, with members that it does not know at every level. Each of these has a
// value of its own, marks.
func unknowns(name string) *rapid.Generator[failureWithMarks] {
	return rapid.Custom(func(t *rapid.T) failureWithMarks {
		f := failureWithMarks{}
		mark := func() string {
			f.marks = append(f.marks, fmt.Sprintf("mark-%d", len(f.marks)))
			value := f.marks[len(f.marks)-1]
			form := rapid.SampledFrom([]string{`%q`, `{"x":[1e+25,%q]}`, `[ %q ]`, `{"a":{"b":%q}}`}).Draw(t, "value")
			return fmt.Sprintf(form, value)
		}
		own := func() string { // members that nobody knows
			var b strings.Builder
			for i := range rapid.IntRange(0, 2).Draw(t, "members") {
				fmt.Fprintf(&b, `,"own%d": %s`, i, mark())
			}
			return b.String()
		}
		item := func(id string) string {
			switch rapid.IntRange(0, 2).Draw(t, "item") {
			case 0:
				return `{"` + id + `":"1"` + own() + `}`
			case 1:
				return `{"other":` + mark() + own() + `}`
			default:
				return mark()
			}
		}
		switch name {
		case "fieldmcp":
			f.result = twoPlaces(`{"error":true,"code":"PARTIAL_SUCCESS","message":"m","retryable":false` + own() +
				`,"succeeded":[` + item("id") + `,` + item("id") + `],"failed":[` + item("id") + `],"missingData":[` + item("what") + `]}`)
		case "commerce":
			object := `{"code":3500,"message":"m","retryable":false` + own() + `,"details":{"reason":"r"` + own() + `,"context":{"n":1` + own() + `}}}`
			f.result = `{"content":[{"type":"text","text":` + inJSON(object) + `}],"error":` + object + `,"isError":true` + own() + `}`
		case "patterns":
			f.result = `{"content":[{"type":"text","text":"No."}],"structuredContent":{"kind":"toolError:v1","code":"MINE","message":"No.","retryable":false` +
				own() + `,"details":{"n":1` + own() + `}},"isError":true` + own() + `}`
		case "studies":
			f.result = `{"content":[{"type":"text","text":` + inJSON(`[my_code] No. [envelope] {"error_kind":"my_code"`+own()+`}`) + own() + `}],"isError":true` + own() + `}`
		default:
			f.result = `{"content":[{"type":"text","text":"[timeout] No."}],"structuredContent":{"v":1,"kind":"timeout","code":"timeout","contract":"recourse","message":"No."` +
				own() + `,"details":{"n":1` + own() + `}},"isError":true` + own() + `}`
		}
		return f
	})
}

type failureWithMarks struct {
	result string
	marks  []string
}

func inJSON(text string) string { return string(json.AppendQuote(nil, text)) }

func twoPlaces(object string) string {
	return `{"content":[{"type":"text","text":` + inJSON(object) + `}],"structuredContent":` + object + `,"isError":true}`
}

// Members that a contract does not know survive on every way, in the contract itself and in every other one.
func TestUnknownMembersSurvive(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"fieldmcp", "commerce", "patterns", "studies", "recourse"} {
		for _, to := range []string{from, "recourse"} {
			for _, era := range eras {
				for _, serverEra := range eras {
					t.Run(fmt.Sprintf("%s in %s/%s to %s", from, to, era, serverEra), func(t *testing.T) {
						t.Parallel()
						srv := testkit.NewServer(t, testkit.WithEra(serverEra))
						entry := []string{"contract: " + to}
						if to != from {
							entry = append(entry, "reads: "+from)
						}
						client := start(t, srv.URL(), entry...).client(t, era)
						rapid.Check(t, func(t *rapid.T) {
							f := unknowns(from).Draw(t, "failure")
							srv.Next(testkit.GetField, faults.Result("", f.result))
							a, err := client.Call(context.Background(), testkit.GetField, `{"field_id":"f-1"}`)
							if err != nil || a.Message == nil {
								t.Fatalf("got %+v, %v", a, err)
							}
							has(t, f, string(a.Message.Result))
						})
					})
				}
			}
		}
	}
}

// The same holds for what an author's tool returns.
func TestUnknownMembersSurviveInAuthorsServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fieldmcp", "patterns", "studies", "recourse"} { // the Go SDK has no member error in results
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent mcp.CallToolResult
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "fail", InputSchema: json.Value(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &sent, nil
			})
			mcptool.Use(server, contract.Builtin().MustGet(name), mcptool.WithLogger(slog.New(slog.DiscardHandler)))
			here, there := mcp.NewInMemoryTransports()
			if _, err := server.Connect(t.Context(), there, nil); err != nil {
				t.Fatal(err)
			}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), here, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			rapid.Check(t, func(t *rapid.T) {
				f := unknowns(name).Draw(t, "failure")
				sent = mcp.CallToolResult{}
				if err := sent.UnmarshalJSON([]byte(f.result)); err != nil {
					t.Fatal(err)
				}
				passed, _ := json.Marshal(&sent) // what the SDK has a place for
				f.marks = slices.DeleteFunc(f.marks, func(mark string) bool { return !strings.Contains(string(passed), mark) })
				got, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "fail"})
				if err != nil {
					t.Fatal(err)
				}
				raw, _ := json.Marshal(got)
				has(t, f, string(raw))
			})
		})
	}
}

// has looks for the marks in a result, or for one that says that members of a record are left out.
func has(t *rapid.T, f failureWithMarks, result string) {
	for _, mark := range f.marks {
		if !strings.Contains(result, `"omitted":`) && !strings.Contains(result, mark+`"`) && !strings.Contains(result, mark+`\"`) {
			t.Errorf("%s is lost\n%s\n%s", mark, f.result, result)
		}
	}
}
