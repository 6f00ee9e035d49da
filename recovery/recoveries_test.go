package recovery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/recovery"
)

// A kitCall is a tools/call.
type kitCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// A kitRecovery is a line of the kit's recoveries: a call, the server's answers, and the outcome.
type kitRecovery struct {
	kitCall

	Name     string                       `json:"name"`
	Contract string                       `json:"contract"`
	Answers  map[string][]json.RawMessage `json:"answers"`          // results by tool
	Connect  bool                         `json:"connect"`          // a hook connects accounts
	Answer   json.RawMessage              `json:"answer,omitempty"` // from the hook that answers questions
	Want     kitOutcome                   `json:"want"`
}

type kitOutcome struct {
	Calls  []kitCall       `json:"calls"`
	Waits  []int64         `json:"waits"`            // whole milliseconds
	Kind   recourse.Kind   `json:"kind,omitempty"`   // of the failure
	Result json.RawMessage `json:"result,omitempty"` // its structured content
}

// scriptedSession answers as the line says, immediately.
type scriptedSession struct {
	line *kitRecovery
	next map[string]int
	now  time.Time
}

func (s *scriptedSession) CallTool(_ context.Context, p struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
},
) (json.RawMessage, error) {
	s.line.Want.Calls = append(s.line.Want.Calls, kitCall{p.Name, p.Arguments})
	i := s.next[p.Name]
	s.next[p.Name]++
	answers := s.line.Answers[p.Name]
	if len(answers) == 0 {
		return nil, fmt.Errorf("no answer to %s", p.Name)
	}
	return answers[min(i, len(answers)-1)], nil
}

func (s *scriptedSession) Now() time.Time { return s.now }

func (s *scriptedSession) Sleep(_ context.Context, d time.Duration) error {
	s.line.Want.Waits = append(s.line.Want.Waits, d.Milliseconds())
	s.now = s.now.Add(d)
	return nil
}

// The kit has whole recoveries, too: the calls, the waits, and the outcome.
func TestKitRecoveries(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	for _, line := range recoveries() {
		line.Want = kitOutcome{Calls: []kitCall{}, Waits: []int64{}}
		c := contract.MustBuiltin(line.Contract)
		s := &scriptedSession{line: &line, next: map[string]int{}, now: time.Unix(0, 0)}
		options := []recovery.Option{
			recovery.WithClock(s), recovery.WithRandom(func() float64 { return 0.5 }), recovery.WithLogger(slog.New(slog.DiscardHandler)),
		}
		if line.Connect {
			options = append(options, recovery.WithHooks(recovery.Hooks{Connect: func(context.Context, *recourse.Error) error { return nil }}))
		}
		if line.Answer != nil {
			options = append(options, recovery.WithHooks(recovery.Hooks{Answer: func(context.Context, *recourse.NeedsInput) (map[string]any, error) {
				var given map[string]any
				err := json.Unmarshal(line.Answer, &given)
				return given, err
			}}))
		}
		result, err := recovery.New(s, c, options...).CallTool(t.Context(), struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}{line.Tool, line.Arguments})
		if e, failed := errors.AsType[*recourse.Error](err); failed {
			line.Want.Kind = e.Kind
		} else if err != nil {
			t.Fatalf("%s: %v", line.Name, err)
		}
		if result != nil {
			line.Want.Result = json.RawMessage(internaljson.Lookup(internaljson.Value(result), "/structuredContent"))
		}
		raw, err := internaljson.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		file.Write(raw)
		file.WriteByte('\n')
	}
	contracttest.Golden(t, filepath.Join("..", "contract", "testdata", "kit", "recoveries.jsonl"), file.String())
}

// recoveries returns the calls with the server's answers.
func recoveries() []kitRecovery {
	const order = `{"order":{"externalId":"e-1"}}`
	good := json.RawMessage(`{"content":[],"structuredContent":{"ok":true}}`)
	data := func(text string) json.RawMessage {
		return json.RawMessage(`{"content":[],"structuredContent":` + text + `}`)
	}
	late := recourse.Timeout("", 0).WithEffect(recourse.EffectUnknown)
	down := recourse.Unavailable("John Deere").WithOrigin(recourse.OriginProvider)
	partly := recourse.Partial([]recourse.SucceededItem{{ID: "a", Value: []byte(`1`)}}, []recourse.FailedItem{
		{ID: "b", Error: recourse.Timeout("John Deere", 0)}, {ID: "c", Error: recourse.NotFound("field", "c")},
	})
	mended := recourse.Partial([]recourse.SucceededItem{{ID: "a", Value: []byte(`1`)}}, []recourse.FailedItem{{ID: "b", Error: recourse.Timeout("John Deere", 0)}})
	still := recourse.Partial(nil, []recourse.FailedItem{{ID: "b", Error: recourse.Timeout("John Deere", 0)}})
	strange := recourse.Partial([]recourse.SucceededItem{{ID: "a", Value: []byte(`3`)}, {ID: "b", Value: []byte(`2`)}}, []recourse.FailedItem{{ID: "a", Error: recourse.Timeout("John Deere", 0)}})
	open := recourse.Partial([]recourse.SucceededItem{{ID: "a", Value: []byte(`1`)}}, []recourse.FailedItem{
		{ID: "b", Error: recourse.Timeout("John Deere", 0)}, {ID: "c", Error: recourse.Timeout("John Deere", 0)},
	})
	line := func(name, of, tool, arguments string, answers map[string][]any) kitRecovery {
		l := kitRecovery{Name: name, Contract: of, kitCall: kitCall{tool, json.RawMessage(arguments)}, Answers: map[string][]json.RawMessage{}}
		for answering, list := range answers {
			for _, a := range list {
				switch a := a.(type) {
				case *recourse.Error:
					call := &contract.Call{Method: "tools/call", Tool: answering, Arguments: []byte(arguments), Now: contracttest.Present}
					l.Answers[answering] = append(l.Answers[answering], contract.MustBuiltin(of).Write(a, call).Result)
				case json.RawMessage:
					l.Answers[answering] = append(l.Answers[answering], a)
				}
			}
		}
		return l
	}
	connected := line("connect", "fieldmcp", "get_field", `{"id":"1"}`, map[string][]any{"get_field": {recourse.NotConnected("John Deere"), good}})
	connected.Connect = true
	question := data(`{"kind":"needsInput:v1","type":"elicitation","message":"Which?","needsInput":{"fields":["id"]}}`)
	answered := line("answer", "patterns", "get-pattern", `{"x":1}`, map[string][]any{"get-pattern": {question, good}})
	answered.Answer = json.RawMessage(`{"id":"a"}`)
	text := func(text string) json.RawMessage {
		return json.RawMessage(`{"content":[{"type":"text","text":` + strconv.Quote(text) + `}],"isError":true}`)
	}
	lost := text(`[network_error] The backend could not be reached. Suggestions: The write may have landed. ` +
		`Before calling again run study_get(study_id="s-1", lean=True) and check reports`)
	losing := text(`[network_error] The backend could not be reached. Suggestions: Before calling again run study_update(study_id="s-1")`)
	next := data(`{"next_action":"study_get(study_id=\"s-1\", lean=True)"}`)
	from := func(place string) map[string][]any {
		return map[string][]any{"order-hold": {json.RawMessage(`{"content":[],"isError":true,"_meta":{"` + recourse.MetaKey +
			`":{"v":1,"kind":"timeout","effect":"unknown","verify":{"tool":"get-orders","from":{"ids":` + place + `}}}}}`)}, "get-orders": {good}}
	}
	return []kitRecovery{
		line("wait", "fieldmcp", "deere_get_fields", `{"id":"1"}`, map[string][]any{"deere_get_fields": {down.WithEffect(recourse.EffectNone), good}}),
		line("given up", "fieldmcp", "deere_get_fields", `{"id":"1"}`, map[string][]any{"deere_get_fields": {recourse.Timeout("", 0).WithEffect(recourse.EffectNone)}}),
		line("mistake", "fieldmcp", "get_field", `{}`, map[string][]any{"get_field": {recourse.Missing("id")}}),
		line("items that fail for good", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b","c"]}`, map[string][]any{"deere_get_fields": {partly, data(`{"list":[2]}`)}}),
		line("items that succeed in the end", "fieldmcp", "deere_get_fields", `{"fieldIds":["a",{"id":"b"}]}`, map[string][]any{"deere_get_fields": {mended, still, data(`{"list":[2]}`)}}),
		line("items that the answer leaves out, and one that it takes back", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b","c"]}`, map[string][]any{"deere_get_fields": {open, strange}}),
		line("an item that the first answer does not mention", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b","c"]}`, map[string][]any{"deere_get_fields": {mended, data(`{"data":[{"id":"b"}]}`)}}),
		line("an item that a success does not mention", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`, map[string][]any{"deere_get_fields": {mended, data(`{"error":false,"data":[],"missingData":[]}`)}}),
		line("items that a success names in another order", "fieldmcp", "deere_get_fields", `{"fieldIds":["b","a","c"]}`, map[string][]any{"deere_get_fields": {open, data(`{"of":{"n":2},"list":[7,8],"data":[{"fieldId":"c"},{"fieldId":"b"}]}`)}}),
		line("a single item that is not in a list", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`, map[string][]any{"deere_get_fields": {mended, data(`{"data":{"name":"x"},"missingData":[]}`)}}),
		line("items of a tool of whose batches the contract says nothing", "fieldmcp", "other", `{"tags":["x"],"ids":["a",{"id":"b"}]}`, map[string][]any{"other": {mended, data(`{"list":[2]}`)}}),
		line("items that stand in two arguments", "fieldmcp", "other", `{"ids":["a","b"],"more":["a","b"]}`, map[string][]any{"other": {mended, data(`{"list":[2]}`)}}),
		line("a wait of the whole", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`, map[string][]any{"deere_get_fields": {mended.WithRetryAfter(10 * time.Second), data(`{"list":[2]}`)}}),
		line("nothing of a batch at first, under the code of its first item", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`, map[string][]any{"deere_get_fields": {data(`{"error":true,"code":"FIELD_NOT_FOUND","message":"m","retryable":false,"failed":[{"id":"a","code":"FIELD_NOT_FOUND","message":"m","retryable":false},{"id":"b","code":"PROVIDER_TIMEOUT","message":"m","retryable":true}]}`), data(`{"list":[{"id":"b","x":2}]}`)}}),
		line("nothing of a batch at first, and one item for good", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`, map[string][]any{"deere_get_fields": {data(`{"error":true,"code":"PROVIDER_TIMEOUT","message":"m","retryable":true,"failed":[{"id":"b","code":"PROVIDER_TIMEOUT","message":"m","retryable":true},{"id":"a","code":"FIELD_NOT_FOUND","message":"m","retryable":false}]}`), data(`{"error":true,"code":"PROVIDER_TIMEOUT","message":"m","retryable":true,"failed":[{"id":"b","code":"PROVIDER_TIMEOUT","message":"m","retryable":true}]}`)}}),
		line("a wait of an item", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`, map[string][]any{"deere_get_fields": {data(`{"error":true,"code":"PARTIAL_SUCCESS","message":"m","retryable":false,"retryAfter":3,"succeeded":[{"id":"a","data":1}],"failed":[{"id":"b","code":"PROVIDER_TIMEOUT","message":"m","retryable":true,"retryAfter":9}]}`), data(`{"list":[2]}`)}}),
		line("items, then all of it", "fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`, map[string][]any{"deere_get_fields": {mended, recourse.NotFound("field", "b")}}),
		connected,
		line("nobody connects", "fieldmcp", "get_field", `{"id":"1"}`, map[string][]any{"get_field": {recourse.NotConnected("John Deere")}}),
		answered,
		line("landed", "commerce", "create-sales-order", order, map[string][]any{"create-sales-order": {late}, "get-orders": {data(`{"items":[{"id":"SO-1"}]}`)}}),
		line("not landed", "commerce", "create-sales-order", order, map[string][]any{"create-sales-order": {late, good}, "get-orders": {data(`{"items":[]}`)}}),
		line("landed twice asked", "commerce", "create-sales-order", order, map[string][]any{
			"create-sales-order": {late}, "get-orders": {recourse.Timeout("", 0), recourse.Timeout("", 0), data(`{"items":[{"id":"SO-1"}]}`)},
		}),
		line("landed by its status", "commerce", "cancel-order", `{"orderId":"SO-1"}`, map[string][]any{"cancel-order": {late}, "get-orders": {data(`{"items":[{"status":"cancelled"}]}`)}}),
		line("not landed by its status", "commerce", "cancel-order", `{"orderId":"SO-1"}`, map[string][]any{"cancel-order": {late, good}, "get-orders": {data(`{"items":[{"status":"open"}]}`)}}),
		line("nothing to ask for", "commerce", "create-sales-order", `{"order":{}}`, map[string][]any{"create-sales-order": {late}, "get-orders": {data(`{"items":[{"id":"SO-1"}]}`)}}),
		line("nothing to look at", "commerce", "create-sales-order", order, map[string][]any{"create-sales-order": {late}, "get-orders": {data(`{"orders":[]}`)}}),
		line("no rule", "commerce", "fulfill-order", `{"orderId":"SO-1"}`, map[string][]any{"fulfill-order": {late}, "get-fulfillments": {data(`{"items":[]}`)}}),
		line("the message names the call", "studies", "report_create", `{"study_id":"s-1"}`, map[string][]any{"report_create": {lost}, "study_get": {good}}),
		line("the message names a write", "studies", "report_create", `{"study_id":"s-1"}`, map[string][]any{"report_create": {losing}, "study_update": {good}}),
		line("gone is landed", "studies", "study_delete", `{"study_id":"s-1"}`, map[string][]any{"study_delete": {late}, "study_get": {recourse.NotFound("study", "s-1")}}),
		line("polled", "studies", "run_dispatch", `{"study_id":"s-1"}`, map[string][]any{
			"run_dispatch": {next}, "study_get": {data(`{"runtime_status":"queued"}`), recourse.Timeout("", 0), data(`{"runtime_status":"completed"}`)},
		}),
		line("polled in vain", "studies", "run_dispatch", `{"study_id":"s-1"}`, map[string][]any{"run_dispatch": {next}, "study_get": {recourse.PermissionDenied()}}),
		line("polled by what writes", "studies", "run_dispatch", `{"study_id":"s-1"}`, map[string][]any{
			"run_dispatch": {data(`{"next_action":"study_delete(study_id=\"s-1\")"}`)}, "study_delete": {good},
		}),
		line("waits itself", "studies", "run_dispatch", `{"study_id":"s-1","wait":false}`, map[string][]any{"run_dispatch": {next}}),
		line("not there", "terra", "get_sleep_data", `{}`, map[string][]any{"get_sleep_data": {recourse.NotFound("user", "u")}}),
		line("the arguments to ask with stand in a list", "commerce", "order-hold", `{"id":"SO-1"}`, from(`["/id"]`)),
		line("the arguments to ask with stand nowhere", "commerce", "order-hold", `{"id":"SO-1"}`, from(`"/number"`)),
		line("the arguments to ask with stand nowhere, in a list", "commerce", "order-hold", `{"id":"SO-1"}`, from(`["/number"]`)),
		line("the place of the arguments to ask with is null", "commerce", "order-hold", `{"id":"SO-1"}`, from(`null`)),
		line("the place of the arguments to ask with is an empty list", "commerce", "order-hold", `{"id":"SO-1"}`, from(`[]`)),
		line("nothing settles it", "recourse", "order_create", `{}`, map[string][]any{"order_create": {late}}),
	}
}
