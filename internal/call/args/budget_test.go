package args_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/call/args"
)

// costly returns a schema of n properties, each with its own pattern of some 3,000 instructions.
func costly(n int) (schema, arguments string) {
	properties, values := make([]string, n), make([]string, n)
	for i := range n {
		properties[i] = fmt.Sprintf(`"p%d":{"pattern":"^(a{1,500}b{1,500}){1,1}%d$"}`, i, i)
		values[i] = fmt.Sprintf(`"p%d":"c"`, i)
	}
	return `{"properties":{` + strings.Join(properties, ",") + `}}`, `{` + strings.Join(values, ",") + `}`
}

// Compiling the patterns of all tools in a list would take gigabytes. They are compiled when needed, within the list's
// budget; a pattern beyond it counts as matching, and the rest of its schema is checked.
func TestListHasOneBudget(t *testing.T) {
	budget := args.NewBudget()
	schema, arguments := costly(1000)
	schema = strings.Replace(schema, `{"properties"`, `{"required":["order"],"properties"`, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var schemas []*args.Schema
	for range 4 {
		s, err := args.Compile([]byte(schema), budget)
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, s)
		violations := s.Check(context.Background(), []byte(arguments))
		if len(violations) == 0 || violations[0].Param != "order" {
			t.Errorf("%+v", violations)
		}
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 150 {
		t.Errorf("%d MiB", took)
	}
	if n := len(schemas[0].Check(context.Background(), []byte(arguments))); n != 20 {
		t.Errorf("got %d violations of the first patterns", n)
	}
	if schemas[3].Unchecked() == "" {
		t.Error("unchecked patterns are not reported")
	}
	schema, _ = costly(2000)
	for range 20_000/2000 + 1 {
		if _, err := args.Compile([]byte(schema), budget); err != nil {
			if !strings.Contains(err.Error(), "more objects") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("the number of objects in a list is not limited")
}

// After the end of the context, nothing is compiled.
func TestCheckEndsWithItsContext(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	schema, arguments := costly(10)
	s, err := args.Compile([]byte(schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	if violations := s.Check(ctx, []byte(arguments)); violations != nil {
		t.Errorf("%+v", violations)
	}
	if violations := s.Check(t.Context(), []byte(arguments)); len(violations) != 10 {
		t.Errorf("%d violations", len(violations))
	}
}

// Values that are not objects cost something, too.
func TestValuesOfASchemaAreBounded(t *testing.T) {
	t.Parallel()

	for _, schema := range []string{
		`{"enum":[` + strings.Repeat("0,", 50_000) + `0]}`,
		`{"required":["a"` + strings.Repeat(`,"b"`, 50_000) + `]}`,
		`{"title":"` + strings.Repeat("a", 300<<10) + `"}`,
	} {
		if _, err := args.Compile([]byte(schema), nil); err == nil {
			t.Errorf("%.30s...: no error", schema)
		}
	}
}
