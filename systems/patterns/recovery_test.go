package patterns_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/promises"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/patterns"
)

// Where the tool has an argument for it, a failure comes as an object; elsewhere its sentence is read.
func TestClientAsksForJSON(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/client-format")

	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Modern)
	for _, test := range []struct {
		properties string
		isJSON     bool
	}{{`{"q":{},"format":{}}`, true}, {`{"q":{}}`, false}} {
		tool := contract.Tool{Name: "search_patterns", InputSchema: json.RawMessage(`{"properties":` + test.properties + `}`)}
		result, _, err := systemtest.Recover(t, rules(t), client, "search_patterns", `{"q":"hook"}`, recovery.WithTools(tool))
		if err != nil {
			t.Fatal(err)
		}
		var r testkit.ToolResult
		if json.Unmarshal(result, &r) != nil || json.Valid([]byte(r.Content[0].Text)) != test.isJSON {
			t.Errorf("with %s: %s", test.properties, result)
		}
	}
}

func TestClientAnswersQuestion(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/client-question")

	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Modern)
	_, _, err := systemtest.Recover(t, rules(t), client, "search_patterns", `{"q":""}`)
	if n, ok := errors.AsType[*recourse.NeedsInput](err); !ok || len(n.Fields) == 0 {
		t.Fatalf("%v", err)
	}
	_, report, err := systemtest.Recover(t, rules(t), client, "search_patterns", `{"q":""}`,
		recovery.WithAnswer(func(_ context.Context, n *recourse.NeedsInput) (map[string]any, error) {
			return map[string]any{n.Fields[0]: "hook"}, nil
		}))
	if err != nil || report.Attempts() != 2 {
		t.Errorf("%v after %d calls", err, report.Attempts())
	}
}
