package access_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// members are callers with different roles.
func members() string {
	var keys []string
	for _, name := range []string{"reader", "seller", "boss", "nobody"} {
		keys = append(keys, "{name: "+name+", hash: "+auth.HashOf(name+" key").String()+", org: acme, roles: ["+name+"]}")
	}
	return "access: {team: {keys: [" + strings.Join(keys, ", ") + "]}}"
}

var roles = []string{
	"access: [team]", "grants:",
	"- {roles: [reader, boss], tools: ['get_*', echo], resources: true}",
	"- {roles: [seller], tools: ['order_*'], when: 'read_only || args.amount <= 100 && args.reference startsWith caller.org'}",
	"- {roles: [boss], tools: ['*'], prompts: true}",
}

func (d *door) member(tb testing.TB, era testkit.Era, name string) *testkit.Client {
	tb.Helper()
	c := d.As(tb, era, "Authorization", "Bearer "+name+" key")
	if era == testkit.Legacy {
		c.MustInitialize(tb)
	}
	return c
}

// A caller sees and calls exactly what is granted.
func TestGrants(t *testing.T) {
	t.Parallel()
	sees := map[string][]string{
		"reader": {"echo", "get_field"}, "seller": {"order_create", "order_get"}, "nobody": nil,
		"boss": {"ask", "echo", "get_field", "order_create", "order_get", "progress"},
	}
	calls := []struct{ who, tool, arguments, refusal string }{
		{"reader", "get_field", `{"field_id":"F-1"}`, ""},
		{"reader", "order_create", `{"reference":"acme-1","amount":1}`, "reader may not call order_create."},
		{"reader", "order_create", `{}`, "reader may not call order_create."}, // missing arguments would reveal the schema
		{"reader", "get_feild", `{}`, "There is no tool named \"get_feild\". Did you mean get_field?"},
		{"reader", "order_creat", `{}`, "reader may not call order_creat."},
		{"seller", "order_create", `{"reference":"acme-1","amount":100}`, ""},
		{"seller", "order_create", `{"reference":"acme-1","amount":101}`, "seller may not call order_create with these arguments."},
		{"seller", "order_create", `{"reference":"else-1","amount":1}`, "seller may not call order_create with these arguments."},
		{"seller", "order_create", `{"reference":"acme-1"}`, "seller may not call order_create with these arguments."},
		{"seller", "order_create", `{"reference":"acme-1","amount":"1"}`, "seller may not call order_create with these arguments."},
		{"seller", "order_create", `{"reference":"acme-1","amount":1,"note":"` + strings.Repeat("x", 65<<10) + `"}`, "seller may not call order_create with these arguments."},
		{"seller", "order_get", `{"reference":"else-1"}`, ""},
		{"boss", "order_create", `{"reference":"else-1","amount":1000}`, ""},
		{"nobody", "echo", `{"message":"x"}`, "nobody may not call echo."},
	}
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := openDoor(t, members(), append(slices.Clone(roles), "trust_annotations: true")...)
				for name, want := range sees {
					a, err := d.member(t, era, name).ListTools(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					var list struct {
						Tools []struct {
							Name string `json:"name"`
						} `json:"tools"`
						CacheScope string `json:"cacheScope"`
					}
					if err := json.Unmarshal(a.Message.Result, &list); err != nil {
						t.Fatalf("got %s, %v", a.Body, err)
					}
					var got []string
					for _, tool := range list.Tools {
						got = append(got, tool.Name)
					}
					slices.Sort(got)
					if diff := cmp.Diff(want, got); diff != "" || list.CacheScope != "" && list.CacheScope != "private" {
						t.Errorf("%s sees (-want +got):\n%s%s", name, diff, a.Body)
					}
				}
				for _, call := range calls {
					time.Sleep(time.Second) // a list that another session fetched less than a second ago refuses nothing
					a, err := d.member(t, era, call.who).Call(t.Context(), call.tool, call.arguments)
					if err != nil {
						t.Fatal(err)
					}
					if call.refusal == "" {
						if strings.Contains(string(a.Body), "permission_denied") {
							t.Errorf("%s, %s: got %s", call.who, call.tool, a.Body)
						}
						continue
					}
					want := recourse.KindPermissionDenied
					if strings.HasPrefix(call.refusal, "There is no tool") {
						want = recourse.KindUnknownTool
					}
					if e := gatewaytest.Record(t, a); e.Kind != want || e.Message != call.refusal || e.Effect != recourse.EffectNone || a.Status != http.StatusOK {
						t.Errorf("%s, %s: got %s %q, want %q", call.who, call.tool, e.Kind, e.Message, call.refusal)
					}
				}
				for _, other := range []struct {
					method, params string
					may            []string
				}{
					{"prompts/list", `{}`, []string{"boss"}},
					{"resources/list", `{}`, []string{"boss", "reader"}},
					{"resources/templates/list", `{}`, []string{"boss", "reader"}},
					{"completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}}`, []string{"boss"}},
					{"x/unknown", `{}`, []string{"boss", "reader"}},
				} {
					for name := range sees {
						a, err := d.member(t, era, name).Request(t.Context(), other.method, other.params)
						if err != nil {
							t.Fatal(err)
						}
						refused := a.Message.Error != nil && strings.Contains(string(a.Body), "permission_denied")
						if refused == slices.Contains(other.may, name) {
							t.Errorf("%s, %s: got %s", name, other.method, a.Body)
						}
					}
				}
				for _, r := range d.server.Calls(testkit.OrderCreate) {
					if body := string(r.Body); strings.Contains(body, "101") || strings.Contains(body, `"else-1","amount":1}`) {
						t.Errorf("the server got %.200s", body)
					}
				}
			})
		})
	}
}

// In every contract, a call without a grant fails before anything is sent.
func TestGrantsInEveryContract(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, members(), append(slices.Clone(roles), "contract: "+c.Name)...)
			for _, era := range testkit.Eras {
				a, err := d.member(t, era, "nobody").Call(t.Context(), testkit.OrderCreate, `{"reference":"acme-1","amount":1}`)
				if err != nil {
					t.Fatal(err)
				}
				if result, err := a.ToolResult(); err != nil || !result.IsError || a.Status != http.StatusOK {
					t.Errorf("got HTTP %d %s", a.Status, a.Body)
				}
			}
			if n := len(d.server.Calls(testkit.OrderCreate)); n > 0 {
				t.Errorf("got %d calls at the server", n)
			}
		})
	}
}

// A list longer than what is read ahead is filtered too, in every form of answer.
func TestGrantsOfALongList(t *testing.T) {
	t.Parallel()
	for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
		for _, era := range testkit.Eras {
			t.Run(form.String()+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				long := strings.Repeat("secret ", 1000)
				tool := testkit.Tool{Name: "hidden", Definition: `{"name":"hidden","description":"` + long + `","inputSchema":{"type":"object"}}`}
				srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithForm(form), testkit.WithTools(tool))
				d := &door{gatewaytest.StartAt(t, gatewaytest.Path, "decide_within: 4KiB\n"+members()+"\nservers:\n  farm:\n    url: "+srv.URL()+"\n    "+strings.Join(roles, "\n    ")+"\n"), srv}
				a, err := d.member(t, era, "reader").ListTools(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if body := string(a.Body) + string(a.Message.Result); a.Message.Error != nil || strings.Contains(body, "hidden") || !strings.Contains(string(a.Message.Result), "get_field") {
					t.Errorf("got %.300s", body)
				}
			})
		}
	}
}

// A grant for certain callers or organisations applies only to them, whatever the roles of others.
func TestGrantsOfCallers(t *testing.T) {
	t.Parallel()
	for grant, want := range map[string][]string{
		"{callers: [seller], tools: [echo]}":                {"seller"},
		"{callers: [seller, boss, gone], tools: [echo]}":    {"seller", "boss"},
		"{callers: [seller], roles: [boss], tools: [echo]}": nil,
		"{orgs: [acme], tools: [echo]}":                     {"reader", "seller", "boss", "nobody"},
		"{orgs: [other], tools: [echo]}":                    nil,
	} {
		testkit.Virtual(t, grant, func(t *testing.T) {
			d := openDoor(t, members(), "access: [team]", "grants: ["+grant+"]")
			for _, name := range []string{"reader", "seller", "boss", "nobody"} {
				if a := echoed(t, d.member(t, testkit.Modern, name)); wasCalled(a) != slices.Contains(want, name) {
					t.Errorf("%s: got HTTP %d %s", name, a.Status, a.Body)
				}
			}
		})
	}
}
