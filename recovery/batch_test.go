package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/recovery"
)

func item(id string, e *recourse.Error) recourse.FailedItem {
	return recourse.FailedItem{ID: id, Error: e}
}

func found(id string) recourse.SucceededItem {
	return recourse.SucceededItem{ID: id, Value: json.RawMessage(`{"id":"` + id + `"}`)}
}

// Only items that may succeed are tried again; those that succeed are reported immediately, and are in the result.
func TestBatch(t *testing.T) {
	t.Parallel()
	late, gone := recourse.Timeout("John Deere", 0), recourse.NotFound("field", "F-2")
	const tool, arguments = "deere_get_fields", `{"fieldIds":["F-1","F-2","F-3","F-4"]}`
	for name, test := range map[string]struct {
		answers   []any
		calls     []string
		succeeded []string // in the order of the reports
		result    string
		failed    []string
	}{
		"one fails for good, two time out": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1")}, []recourse.FailedItem{item("F-2", gone), item("F-3", late), item("F-4", late)}),
				`{"content":[],"structuredContent":{"error":false,"data":[{"id":"F-3"},{"id":"F-4"}],"missingData":[]}}`,
			},
			calls:     []string{tool + arguments, tool + `{"fieldIds":["F-3","F-4"]}`},
			succeeded: []string{"F-1", "F-3", "F-4"},
			result: `{"succeeded":[{"id":"F-1","value":{"id":"F-1"}},{"id":"F-3","value":{"id":"F-3"}},{"id":"F-4","value":{"id":"F-4"}}],` +
				`"failed":[{"id":"F-2"`,
			failed: []string{"F-2"},
		},
		"items succeed in different attempts": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1"), found("F-2")}, []recourse.FailedItem{item("F-3", late), item("F-4", late)}),
				recourse.Partial([]recourse.SucceededItem{found("F-4")}, []recourse.FailedItem{item("F-3", late)}),
				`{"content":[{"type":"text","text":"{\"error\":false,\"data\":[{\"id\":\"F-3\"}]}"}]}`,
			},
			calls:     []string{tool + arguments, tool + `{"fieldIds":["F-3","F-4"]}`, tool + `{"fieldIds":["F-3"]}`},
			succeeded: []string{"F-1", "F-2", "F-4", "F-3"},
			result:    `{"error":false,"data":[{"id":"F-1"},{"id":"F-2"},{"id":"F-3"},{"id":"F-4"}]}`, // in the tool's own form
		},
		"an item that the next answer omits": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1")}, []recourse.FailedItem{item("F-3", late), item("F-4", late)}),
				recourse.Partial([]recourse.SucceededItem{found("F-4")}, []recourse.FailedItem{item("F-2", gone)}),
			},
			calls:     []string{tool + arguments, tool + `{"fieldIds":["F-3","F-4"]}`},
			succeeded: []string{"F-1", "F-4"}, failed: []string{"F-3", "F-2"}, // F-2 was not mentioned before
		},
		"an item that has succeeded before": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1")}, []recourse.FailedItem{item("F-3", late)}),
				recourse.Partial([]recourse.SucceededItem{found("F-1"), found("F-3")}, []recourse.FailedItem{item("F-1", late)}),
			},
			calls:     []string{tool + arguments, tool + `{"fieldIds":["F-3"]}`},
			succeeded: []string{"F-1", "F-3"}, failed: []string{"F-1", "F-2", "F-4"},
		},
		"an item that succeeds and fails": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1"), found("F-3")}, []recourse.FailedItem{item("F-3", late)}),
			},
			calls:     []string{tool + arguments},
			succeeded: []string{"F-1", "F-3"}, failed: []string{"F-3", "F-2", "F-4"},
		},
		"the retry fails as a whole": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1")}, []recourse.FailedItem{item("F-3", late)}),
				recourse.NotConnected("John Deere"),
			},
			calls:     []string{tool + arguments, tool + `{"fieldIds":["F-3"]}`},
			succeeded: []string{"F-1"}, failed: []string{"F-3", "F-2", "F-4"},
		},
		"an item that was not requested": {
			answers:   []any{recourse.Partial([]recourse.SucceededItem{found("F-1")}, []recourse.FailedItem{item("F-9", late)})},
			calls:     []string{tool + arguments},
			succeeded: []string{"F-1"}, failed: []string{"F-9", "F-2", "F-3", "F-4"},
		},
		"a failure without items": {
			answers: []any{recourse.New(recourse.KindPartial, "some have failed")},
			calls:   []string{tool + arguments},
			failed:  []string{"F-1", "F-2", "F-3", "F-4"},
		},
		"an empty success of an item": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1"), found("F-2"), found("F-3")}, []recourse.FailedItem{item("F-4", late)}),
				`{"content":[],"structuredContent":{"error":false,"data":[],"missingData":[]}}`,
			},
			calls:     []string{tool + arguments, tool + `{"fieldIds":["F-4"]}`},
			succeeded: []string{"F-1", "F-2", "F-3"}, failed: []string{"F-4"},
		},
		"a success that leaves an item out": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1"), found("F-2")}, []recourse.FailedItem{item("F-3", late), item("F-4", late)}),
				`{"content":[],"structuredContent":{"error":false,"data":[{"fieldId":"F-4"}]}}`,
			},
			calls:     []string{tool + arguments, tool + `{"fieldIds":["F-3","F-4"]}`},
			succeeded: []string{"F-1", "F-2", "F-4"}, failed: []string{"F-3"},
		},
		"a success in another order": {
			answers: []any{
				recourse.Partial([]recourse.SucceededItem{found("F-1"), found("F-2")}, []recourse.FailedItem{item("F-3", late), item("F-4", late)}),
				`{"content":[{"type":"text","text":"{\"rows\":[1,2],\"data\":[{\"fieldId\":\"F-4\"},{\"fieldId\":\"F-3\"}]}"},{"type":"text","text":"more"}]}`,
			},
			calls:     []string{tool + arguments, tool + `{"fieldIds":["F-3","F-4"]}`},
			succeeded: []string{"F-1", "F-2", "F-3", "F-4"},
			result:    `{"rows":[1,2],"data":[{"id":"F-1"},{"id":"F-2"},{"fieldId":"F-3"},{"fieldId":"F-4"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := serve("fieldmcp", map[string][]any{tool: test.answers})
				var told []string
				result, _, err := call(t, s, tool, arguments, recovery.WithHooks(recovery.Hooks{Succeeded: func(_ context.Context, items []recourse.SucceededItem) error {
					for _, i := range items {
						told = append(told, i.ID)
					}
					return nil
				}}))
				if diff := cmp.Diff(test.calls, s.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.succeeded, told); diff != "" {
					t.Errorf("reported (-want +got):\n%s", diff)
				}
				if test.result != "" && !strings.Contains(firstText(result), test.result) {
					t.Errorf("got result %v", result.StructuredContent)
				}
				var failed []string
				if e, ok := errors.AsType[*recourse.Error](err); ok {
					for _, f := range e.Failed {
						failed = append(failed, f.ID)
					}
					if len(e.Succeeded) != len(told) {
						t.Errorf("the error has %d successful items, want %d", len(e.Succeeded), len(told))
					}
				}
				if diff := cmp.Diff(test.failed, failed); diff != "" {
					t.Errorf("%v: failed (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}
