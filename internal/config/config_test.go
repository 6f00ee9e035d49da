package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

func options() config.Options {
	env := map[string]string{"FARM_TOKEN": "t0ken", "EMPTY": "", "LINES": "a\nb"}
	return config.Options{
		LookupEnv:      func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		KnownContracts: []string{"recourse", "fieldmcp", "commerce"},
	}
}

// example returns a short configuration that shows the most common keys. It needs the variable FARM_TOKEN.
func example(t *testing.T) []byte {
	t.Helper()
	src, err := os.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestExample(t *testing.T) {
	t.Parallel()
	got, err := config.Parse("recourse.yaml", example(t), options())
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	want := &config.Config{
		Listen: "127.0.0.1:8787", MaxRequest: 4 << 20, DecideWithin: 256 << 10, MaxFailure: 4 << 20,
		MaxInFlight: 64 << 20, MemoryLimit: 448 << 20,
		ConsoleRole: "operator", Log: config.LogAuto, LogLevel: config.LogInfo, OnRedisFailure: config.RedisFailureOpen,
		Servers: config.Servers{
			{
				Name: "farm", Title: "farm", URL: "http://127.0.0.1:9101/mcp", Path: "/farm/mcp", Contract: "fieldmcp",
				Mode: config.ModeEnforce, Errors: config.ErrorsResult, Timeout: 20 * time.Second, MaxTimeout: 10 * time.Minute,
				Headers: map[string]string{"Authorization": "Bearer t0ken"}, Redact: config.RedactAll, TrustAnnotations: new(bool), Pin: new(bool), Share: config.ShareAll,
				Tools: strictyaml.Map[config.Tool]{
					{Key: "get_field", Value: config.Tool{ReadOnly: &yes, Timeout: 40 * time.Second}},
					{Key: "list_*", Value: config.Tool{ReadOnly: &yes}},
					{Key: "order_create", Value: config.Tool{Verify: &config.Verify{
						Tool: "order_get", From: map[string]string{"reference": "/reference"}, LookAt: "status",
					}}},
				},
			},
			{
				Name: "shop", Title: "shop", URL: "https://shop.example.com/mcp", Path: "/shop/mcp", Contract: "recourse",
				Mode: config.ModeObserve, Errors: config.ErrorsResult, Timeout: 45 * time.Second, MaxTimeout: 10 * time.Minute,
				Forward: []string{"Authorization"}, Redact: config.RedactAll, TrustAnnotations: new(bool), Pin: new(bool), Share: config.ShareAll,
			},
		},
	}
	ignore := []cmp.Option{cmpopts.IgnoreUnexported(config.Server{}), cmpopts.IgnoreTypes(strictyaml.Pos{})}
	if diff := cmp.Diff(want, got, ignore...); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestTool(t *testing.T) {
	t.Parallel()
	src := `
servers:
  farm:
    url: http://127.0.0.1:1/mcp
    timeout: 20s
    tools:
      "*": {timeout: 1s}
      get_*: {timeout: 2s, read_only: true}
      "*_?d": {timeout: 3s}
      "get_*_by_*": {read_only: false}
      get_field: {timeout: 4s, idempotent: true}
      put:
        verify: {tool: get, with: {full: true, filter: {ids: [1, {a: ~}]}}}
  shop: {url: "http://127.0.0.1:1/mcp", tools: }
`
	c, err := config.Parse("recourse.yaml", []byte(src), options())
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	tests := map[string]config.Tool{
		"get_field":    {Timeout: 4 * time.Second, Idempotent: &yes},
		"get_fields":   {Timeout: 2 * time.Second, ReadOnly: &yes},
		"get_a_by_b":   {Timeout: 20 * time.Second, ReadOnly: &no},
		"get_id":       {Timeout: 2 * time.Second, ReadOnly: &yes}, // as long as *_?d, and first
		"put_id":       {Timeout: 3 * time.Second},
		"put_d":        {Timeout: time.Second},
		"":             {Timeout: time.Second},
		"get_*":        {Timeout: 2 * time.Second, ReadOnly: &yes},
		"x_by_get_by_": {Timeout: time.Second},
		"put": {Timeout: 20 * time.Second, Verify: &config.Verify{Tool: "get", With: map[string]any{
			"full": true, "filter": map[string]any{"ids": []any{int64(1), map[string]any{"a": nil}}},
		}}},
	}
	for name, want := range tests {
		if diff := cmp.Diff(want, c.Servers[0].Tool(name)); diff != "" {
			t.Errorf("Tool(%q) (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(config.Tool{Timeout: 45 * time.Second}, c.Servers[1].Tool("get_field")); diff != "" {
		t.Errorf("a tool without an entry (-want +got):\n%s", diff)
	}
}

func TestToolAllocatesNothing(t *testing.T) {
	c, err := config.Parse("recourse.yaml", example(t), options())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"get_field", "list_fields", "other"} {
		if n := testing.AllocsPerRun(100, func() { c.Servers[0].Tool(name) }); n != 0 {
			t.Errorf("Tool(%q): %v allocations", name, n)
		}
	}
}

// TestMistakes compares the mistakes in files with golden texts.
func TestMistakes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			opts := options()
			opts.LoadContract = loadContract
			_, err = config.Parse(filepath.Base(path), src, opts)
			if _, ok := errors.AsType[strictyaml.Errors](err); !ok {
				t.Fatalf("got %v, want mistakes", err)
			}
			contracttest.Golden(t, strings.TrimSuffix(path, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

func loadContract(path string) (string, error) {
	switch filepath.Base(path) {
	case "own.yaml":
		return "own", nil
	case "twice.yaml":
		return "commerce", nil
	case "broken.yaml":
		return "", strictyaml.Decode(path, []byte("nmae: x\n"), &struct {
			Name string `yaml:"name,required"`
		}{})
	default:
		return "", os.ErrNotExist
	}
}

// Contract files are looked up beside the configuration.
func TestContractFiles(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.LoadContract = loadContract
	src := "contracts: [own.yaml]\nservers: {a: {url: http://h/mcp, contract: own, reads: own}}\n"
	dir := t.TempDir()
	c, err := config.Parse(filepath.Join(dir, "recourse.yaml"), []byte(src), opts)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(dir, "own.yaml")}; !cmp.Equal(want, c.Contracts) {
		t.Errorf("contracts = %q, want %q", c.Contracts, want)
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	structs := []reflect.Type{
		reflect.TypeFor[config.Config](), reflect.TypeFor[config.Server](),
		reflect.TypeFor[config.Tool](), reflect.TypeFor[config.Verify](), reflect.TypeFor[config.TLS](),
		reflect.TypeFor[config.Breaker](), reflect.TypeFor[config.Concurrency](), reflect.TypeFor[config.Tracing](),
		reflect.TypeFor[config.Hedge](), reflect.TypeFor[config.Limit](),
		reflect.TypeFor[config.AccessJWT](), reflect.TypeFor[config.AccessLogin](),
	}
	for _, s := range structs {
		for f := range s.Fields() {
			if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key == "" {
				continue
			}
			if f.Tag.Get("default") == "" || !strings.HasSuffix(strictyaml.Comment(s, f.Name), ".") {
				t.Errorf("%s.%s lacks a default or a sentence", s.Name(), f.Name)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range append(files, "example.yaml") {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, "get_field")
	}
	f.Fuzz(func(t *testing.T, src []byte, tool string) {
		opts := options()
		opts.LoadContract = loadContract
		c, err := config.Parse("recourse.yaml", src, opts)
		if err != nil {
			if _, ok := errors.AsType[strictyaml.Errors](err); !ok {
				t.Fatalf("%T is not strictyaml.Errors", err)
			}
			if strings.Contains(err.Error(), "t0ken") {
				t.Errorf("the error shows a variable's value: %v", err)
			}
			return
		}
		for _, s := range c.Servers {
			if s.Tool(tool).Timeout <= 0 {
				t.Errorf("%q has no timeout at %q", tool, s.Name)
			}
		}
	})
}
