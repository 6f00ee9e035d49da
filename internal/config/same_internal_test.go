package config

import (
	"reflect"
	"strings"
	"testing"
)

// keepsReach are the keys of a server's entry that do not affect how the server is reached: if a reload changes one,
// the gateway keeps the connection and its state.
var keepsReach = map[string]string{
	"path": "where clients reach the gateway", "contract": "how failures are written", "reads": "how failures are read",
	"mode": "whether failures are written", "redact": "what is masked in them",
	"timeout": "of a call", "max_timeout": "of a call",
	"trust_annotations": "whether a call is repeated", "trusted": "what is believed of an answer", "pin": "what clients are offered",
	"breaker": "which calls are sent", "concurrency": "which calls are sent", "hedge": "how often a call is sent",
	"access": "who calls", "users": "who callers may be", "grants": "what callers may do", "tools": "how a tool is treated", "profile": "how a tool is treated",
	"limits": "how often callers may call", "limit_headers": "what callers are told",
}

// Every key is compared when a reload compares entries, and a new key is so automatically.
func TestEveryKeyIsCompared(t *testing.T) {
	t.Parallel()
	for key, change := range keysOf[Server]() {
		before, after := &Server{}, &Server{}
		change(after)
		before.compileTools()
		after.compileTools()
		if before.Same(after) || !after.Same(after) {
			t.Errorf("a server's %s is not compared", key)
		}
		if _, kept := keepsReach[key]; before.SameReach(after) != kept {
			t.Errorf("a server's %s: got same reach %v; if that is right, add it to keepsReach with the reason, or remove it", key, !kept)
		}
	}
	for key, change := range keysOf[Endpoint]() {
		before, after := &Endpoint{entry: &Server{}}, &Endpoint{entry: &Server{}}
		change(after)
		if before.Same(after) || !after.Same(after) {
			t.Errorf("an endpoint's %s is not compared", key)
		}
	}
	for key, change := range keysOf[Member]() {
		before, after := &Endpoint{entry: &Server{}, Servers: []Member{{}}}, &Endpoint{entry: &Server{}, Servers: []Member{{}}}
		change(&after.Servers[0])
		if before.Same(after) || before.Servers[0].Same(&after.Servers[0]) || !after.Same(after) {
			t.Errorf("the %s of an endpoint's server is not compared", key)
		}
	}
}

// The position of an entry, and the entry that a name refers to, do not count: entries are compared separately.
func TestPositionIsIgnored(t *testing.T) {
	t.Parallel()
	parse := func(text string) *Config {
		c, err := Parse("recourse.yaml", []byte(text), Options{KnownContracts: []string{"recourse"}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const servers = "servers:\n  farm: {url: 'http://127.0.0.1:1/mcp', tools: {get: {read_only: true}}}\n"
	const endpoints = "endpoints:\n  all:\n    servers: [{name: farm, rename: {get: fetch}}]\n"
	a, b := parse(servers+endpoints), parse(endpoints+"\n# a comment\n"+servers)
	if !a.Servers[0].Same(b.Servers[0]) || !a.Endpoints[0].Same(b.Endpoints[0]) {
		t.Error("entries differ by their positions")
	}
	c := parse(servers + endpoints + "    lists: none\n")
	if a.Endpoints[0].Same(c.Endpoints[0]) {
		t.Error("`lists` is not compared")
	}
}

// keysOf maps each key of an entry to a function that changes its value.
func keysOf[T any]() map[string]func(*T) {
	keys := map[string]func(*T){}
	for field := range reflect.TypeFor[T]().Fields() {
		key, ok := field.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		key, _, _ = strings.Cut(key, ",")
		keys[key] = func(entry *T) {
			set(reflect.ValueOf(entry).Elem().FieldByIndex(field.Index))
		}
	}
	return keys
}

// set sets v to a value that is not its zero value.
func set(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Struct:
		set(v.Field(0))
	default:
		panic("a value of kind " + v.Kind().String())
	}
}
