package systems_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/patterns"
	"github.com/recoursehq/recourse/systems/studies"
	"github.com/recoursehq/recourse/systems/terra"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// all returns the reference systems by name.
func all(t *testing.T) map[string]systems.System {
	t.Helper()
	list := map[string]systems.System{}
	add := func(name string, s systems.System, err error) {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		list[name] = s
	}
	quiet := systemtest.Quiet()
	c, err := commerce.New(commerce.Options{Logger: quiet})
	add("commerce", c, err)
	f, err := fieldmcp.New(fieldmcp.Options{Logger: quiet})
	add("fieldmcp", f, err)
	p, err := patterns.New(patterns.Options{Logger: quiet})
	add("patterns", p, err)
	s, err := studies.New(studies.Options{Logger: quiet})
	add("studies", s, err)
	h, err := terra.New(terra.Options{Logger: quiet, Client: terra.DemoClient()})
	add("terra", h, err)
	return list
}

// A schema is the part of an inputSchema that is needed to generate arguments.
type schema struct {
	Type       any                `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Items      *schema            `json:"items"`
	Enum       []any              `json:"enum"`
}

func (s *schema) is(name string) bool {
	types, _ := s.Type.([]any)
	return s.Type == name || slices.Contains(types, any(name))
}

// integers returns one value of the schema for each integer in it, in which number replaces that integer, and a value
// with ordinary numbers.
func (s *schema) integers(number string) (values []string, plain string) {
	switch {
	case len(s.Enum) > 0:
		raw, _ := json.Marshal(s.Enum[0])
		return nil, string(raw)
	case s.is("integer"):
		return []string{number}, "1"
	case s.is("array") && s.Items != nil:
		values, plain = s.Items.integers(number)
		for i, value := range values {
			values[i] = "[" + value + "]"
		}
		return values, "[" + plain + "]"
	case s.is("object"):
		return s.object(number)
	case s.is("boolean"):
		return nil, "false"
	default:
		return nil, `"x"`
	}
}

func (s *schema) object(number string) (values []string, plain string) {
	fixed := map[string]string{}
	for _, name := range s.Required {
		_, fixed[name] = s.Properties[name].integers(number)
	}
	with := func(name, value string) string {
		members := []string{}
		for other, given := range fixed {
			if other != name {
				members = append(members, `"`+other+`":`+given)
			}
		}
		if name != "" {
			members = append(members, `"`+name+`":`+value)
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for name, property := range s.Properties {
		inner, _ := property.integers(number)
		for _, value := range inner {
			values = append(values, with(name, value))
		}
	}
	return values, with("", "")
}

// A number beyond int64 is a mistake in the arguments, in every argument of every tool, and has no effect.
func TestHugeNumbers(t *testing.T) {
	t.Parallel()
	found := 0
	for name, system := range all(t) {
		client := systemtest.HTTP(t, system, testkit.Legacy)
		var list struct {
			Tools []struct {
				Name        string  `json:"name"`
				InputSchema *schema `json:"inputSchema"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(client(t, "tools/list", `{}`).Result, &list); err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			for _, number := range []string{"1e20", "9223372036854775808", "-1e30", "1e400"} {
				calls, _ := tool.InputSchema.integers(number)
				found += len(calls)
				for _, arguments := range calls {
					r := client.Call(t, tool.Name, arguments)
					if r.Error != nil && r.Error.Code == -32602 {
						continue
					}
					if e := r.Record(t); !errors.Is(e, recourse.ClassInput) || e.Effect != recourse.EffectNone || len(e.Violations) == 0 {
						t.Errorf("%s, %s %s: %v, effect %s", name, tool.Name, arguments, e, e.Effect)
					}
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("found only %d arguments", found)
	}
}

// Each contract's advice fits its system: the tools exist, with the parameters that it names.
func TestAdviceFitsTheTools(t *testing.T) {
	t.Parallel()
	for name, system := range all(t) {
		var list struct {
			Tools []contract.Tool `json:"tools"`
		}
		if err := json.Unmarshal(systemtest.HTTP(t, system, testkit.Legacy)(t, "tools/list", `{}`).Result, &list); err != nil {
			t.Fatal(err)
		}
		if err := contract.Builtin().LintFor(name, nil, list.Tools); err != nil {
			t.Errorf("%s:\n%v", name, err)
		}
	}
}
