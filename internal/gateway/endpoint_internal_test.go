package gateway

import (
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A change of any key of an entry gives the server a new backend, except for the keys that only concern its clients. A new
// key is of the first kind unless it is listed here.
func TestEveryKeyCounts(t *testing.T) {
	t.Parallel()

	treatment := []string{
		"Path", "Contract", "Reads", "Mode", "Redact", "Timeout", "MaxTimeout", "TrustAnnotations", "Pin", "Trusted", "Tools",
		"Breaker", "Concurrency", "Hedge", "Limits", "LimitHeaders",
		"Access", "Users", "Grants", "Profile", "Known",
	}
	set := contract.Builtin()
	for _, way := range []string{"url: 'http://127.0.0.1:1/mcp'", "command: [program]"} {
		parse := func() *config.Config {
			cfg, err := config.Parse("recourse.yaml", []byte("servers: {farm: {"+way+"}}\n"), config.Options{KnownContracts: set.Names()})
			if err != nil {
				t.Fatal(err)
			}
			return cfg
		}
		g, err := NewReaching(Reach{Pins: struct{ pin.Records }{}}, parse(), set, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		before := g.table.Load()
		keys := 0
		for field := range reflect.TypeFor[config.Server]().Fields() {
			if !field.IsExported() {
				continue
			}
			keys++
			cfg := parse()
			change(t, field.Name, reflect.ValueOf(cfg.Servers[0]).Elem().FieldByIndex(field.Index))
			after, err := g.newTable(cfg, set, before)
			if err != nil {
				t.Fatalf("%s: %v", field.Name, err)
			}
			old, on := before.named["farm"], after.named[cfg.Servers[0].Name]
			if isTreatment := slices.Contains(treatment, field.Name); (on.backend == old.backend) != isTreatment {
				t.Errorf("%s, %s: got kept %v", way, field.Name, !isTreatment)
			}
			if on == old && field.Name != "Tools" { // its value differs only in its positions in the file
				t.Errorf("%s, %s: got the old endpoint", way, field.Name)
			}
			g.abandon(after)
		}
		if keys < 20 {
			t.Errorf("got only %d keys", keys)
		}
		if on, err := g.newTable(parse(), set, before); err != nil || on.named["farm"] != before.named["farm"] {
			t.Errorf("%s: the same entry got another endpoint, %v", way, err)
		}
	}
}

// change sets a key to another valid value.
func change(t *testing.T, name string, key reflect.Value) {
	t.Helper()
	other := map[string]string{"Contract": "fieldmcp", "Mode": "observe", "Redact": "off", "Share": "client", "URL": "http://127.0.0.1:2/mcp"}
	switch value := key.Addr().Interface().(type) {
	case *string:
		if *value = other[name]; *value == "" {
			*value = "other"
		}
	case *bool:
		*value = !*value
	case **bool:
		changed := !**value
		*value = &changed
	case *config.Reads:
		*value = config.Reads{"terra"}
	case **config.Users:
		*value = &config.Users{Check: "http://127.0.0.1:4/may"}
	case **config.Profile:
		*value = &config.Profile{Name: "other"}
	case **openapi.API:
		*value = &openapi.API{Base: "http://127.0.0.1:3"}
	case *[]config.Operation:
		*value = []config.Operation{{Deny: true}}
	case *config.Limits:
		*value = config.Limits{{Name: "minute", Calls: config.Rate{Calls: 1, Window: time.Minute}}}
	case **config.Breaker:
		*value = &config.Breaker{FailureRate: 1, Window: time.Second, MinCalls: 1, OpenFor: time.Second, MaxOpen: time.Second}
	case **config.Hedge:
		*value = &config.Hedge{After: time.Second}
	case **config.Concurrency:
		*value = &config.Concurrency{Max: 1, Wait: time.Second}
	case *[]string:
		if *value = append(*value, "X-Other"); name == "Access" {
			*value = []string{config.Loopback}
		}
	case *[]config.Grant:
		*value = append(*value, config.Grant{})
	case *map[string]string:
		*value = map[string]string{"X-Other": "other"}
	case *time.Duration:
		*value += time.Second
	case *strictyaml.Map[config.Tool]:
		*value = append(*value, strictyaml.Entry[config.Tool]{})
	default:
		if key.Kind() != reflect.String {
			t.Fatalf("%s is a %T: say how it changes", name, value)
		}
		key.SetString(other[name])
	}
}

// A change of any key of an endpoint with several servers takes effect with a reload, which keeps the last lists.
func TestEveryKeyOfAnEndpointCounts(t *testing.T) {
	t.Parallel()
	set := contract.Builtin()
	parse := func(more string) *config.Config {
		cfg, err := config.Parse("recourse.yaml", []byte("servers: {farm: {url: 'http://127.0.0.1:1/mcp'}, shop: {url: 'http://127.0.0.1:2/mcp'}}\n"+
			"endpoints: {all: {"+more+"}}\n"), config.Options{KnownContracts: set.Names()})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	const servers = "servers: [farm], "
	g, err := New(parse(servers), set, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	before := g.table.Load()
	keys := map[string]string{
		"Path": "path: /other", "Title": "title: Other", "Contract": "contract: fieldmcp", "Servers": "servers: [shop]",
		"Deadline": "deadline: 1s", "Access": "access: [loopback]", "Grants": "access: [loopback], grants: [{tools: ['*']}]",
		"Users":  "path: '/all/{user_id}', access: [loopback], users: {check: 'http://127.0.0.1:3/may'}",
		"Limits": "limits: {minute: {calls: 1/1m}}", "LimitHeaders": "limit_headers: true", "Concurrency": "concurrency: {max: 1}",
	}
	for field := range reflect.TypeFor[config.Endpoint]().Fields() {
		if !field.IsExported() || field.Name == "Name" || field.Name == "Lists" { // the file is opened only at the start
			continue
		}
		more := servers + keys[field.Name]
		if field.Name == "Servers" {
			more = keys[field.Name]
		}
		after, err := g.newTable(parse(more), set, before)
		if err != nil {
			t.Fatal(err)
		}
		old, on := before.named["all"], after.named["all"]
		if on == old || on.backend != old.backend {
			t.Errorf("%s: got the old endpoint, or lost lists", field.Name)
		}
		g.abandon(after)
	}
	if after, err := g.newTable(parse(servers), set, before); err != nil || after.named["all"] != before.named["all"] {
		t.Errorf("the same entry got another endpoint, %v", err)
	}
}
