package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A local is a reference server that people run on stdio, with the steps to take with it.
type local struct {
	*npmServer

	keys  []string // of its entry, besides the command
	works []step   // the gateway does not change the answers
	fails []step

	// held is a call that takes effect, but whose answer is held back until the server is ended. proof shows the
	// effect.
	held, proof step
}

// locals are the servers. Each call makes new ones; those that need files use dir.
func locals() []struct {
	name string
	open func(tb testing.TB, dir string) local
} {
	return []struct {
		name string
		open func(tb testing.TB, dir string) local
	}{
		{"filesystem", filesystem},
		{"memory", memory},
		{"sequential-thinking", sequentialThinking},
		{"everything", everythingOnStdio},
	}
}

func filesystem(tb testing.TB, dir string) local {
	tb.Helper()
	for name, text := range map[string]string{"notes.txt": "grüß\n", "held.txt": holdText} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	at := func(name string) string { return quoted(filepath.Join(dir, name)) }
	const outside = "Access denied - path outside allowed directories: /etc/passwd not in "
	return local{
		npmServer: newNPMServer(tb, "filesystem", dir),
		works: []step{
			{method: "tools/list", want: []string{`"read_text_file"`, `"write_file"`}},
			{tool: "read_text_file", arguments: `{"path":` + at("notes.txt") + `}`, want: []string{"grüß"}},
			{tool: "read_text_file", arguments: `{"path":"notes.txt","head":1}`, want: []string{"grüß"}},
			{tool: "list_directory", arguments: `{"path":` + at(".") + `}`, want: []string{"[FILE] notes.txt"}},
			{tool: "write_file", arguments: `{"path":"notes.txt","content":"grüß\n"}`, want: []string{"Successfully wrote to "}},
		},
		fails: []step{
			{
				tool: "read_text_file", arguments: `{"path":"/etc/passwd"}`, want: []string{outside + dir},
				kind: recourse.KindPermissionDenied, origin: recourse.OriginServer, effect: recourse.EffectNone,
			},
			{
				tool: "write_file", arguments: `{"path":"/etc/passwd","content":""}`, want: []string{outside + dir, "Change the arguments before calling again."},
				kind: recourse.KindPermissionDenied, origin: recourse.OriginServer, effect: recourse.EffectNone,
			},
			{
				tool: "read_text_file", arguments: `{"path":` + at("none.txt") + `}`,
				want: []string{"ENOENT: no such file or directory, open '" + filepath.Join(dir, "none.txt") + "'"},
				kind: recourse.KindNotFound, origin: recourse.OriginServer, effect: recourse.EffectNone,
			},
			{
				tool: "read_text_file", arguments: `{"head":"one"}`, want: []string{"path is required", "head must be a number"},
				kind: recourse.KindMissingParam, origin: recourse.OriginCaller, effect: recourse.EffectNone,
			},
			{tool: "read_text_fil", arguments: `{}`, kind: recourse.KindUnknownTool, want: []string{"Did you mean read_text_file?"}},
		},
		// A read, so it is repeated with the next process, which answers.
		held: step{tool: "read_text_file", arguments: `{"path":"held.txt"}`, want: []string{holdText}},
	}
}

func memory(tb testing.TB, _ string) local {
	tb.Helper()
	server := newNPMServer(tb, "memory")
	server.Environ["MEMORY_FILE_PATH"] = filepath.Join(tb.TempDir(), "memory.jsonl")
	person := func(name string) string {
		return `{"entities":[{"name":` + quoted(name) + `,"entityType":"person","observations":["counts"]}]}`
	}
	return local{
		npmServer: server,
		works: []step{
			{method: "tools/list", want: []string{`"create_entities"`, `"read_graph"`}},
			{tool: "create_entities", arguments: person("Ada"), want: []string{`"Ada"`}},
			{tool: "search_nodes", arguments: `{"query":"counts"}`, want: []string{`"Ada"`}},
		},
		fails: []step{
			{
				tool: "create_entities", arguments: `{"entities":[{"name":7}]}`,
				want: []string{"entities.0.entityType is required", "entities.0.name must be a string"},
				kind: recourse.KindMissingParam, origin: recourse.OriginCaller, effect: recourse.EffectNone,
			},
			{
				tool: "add_observations", arguments: `{"observations":[{"entityName":"Bob","contents":["x"]}]}`,
				want: []string{"Entity with name Bob not found"},
				kind: recourse.KindNotFound, origin: recourse.OriginServer, effect: recourse.EffectNone,
			},
			{tool: "create_entity", arguments: `{}`, kind: recourse.KindUnknownTool, want: []string{"Did you mean create_entities?"}},
			{method: "resources/read", params: `{"uri":"memory://nowhere"}`, code: "-32602"},
		},
		held: step{
			tool: "create_entities", arguments: person(holdText), want: []string{"not known", "read_graph"}, // by its profile
			kind: recourse.KindUnreachable, origin: recourse.OriginGateway, effect: recourse.EffectUnknown,
		},
		proof: step{tool: "open_nodes", arguments: `{"names":[` + quoted(holdText) + `]}`, want: []string{`"counts"`}},
	}
}

func sequentialThinking(tb testing.TB, _ string) local {
	tb.Helper()
	const think = `{"thought":"first","thoughtNumber":1,"totalThoughts":2,"nextThoughtNeeded":true`
	return local{
		npmServer: newNPMServer(tb, "sequential-thinking"),
		works: []step{
			{method: "tools/list", want: []string{`"sequentialthinking"`}},
			{tool: "sequentialthinking", arguments: think + `}`, want: []string{`"thoughtHistoryLength":1`}},
			{tool: "sequentialthinking", arguments: think + `,"branchFromThought":1,"branchId":"b"}`, want: []string{`"branches":["b"]`}},
		},
		fails: []step{
			{
				tool: "sequentialthinking", arguments: `{"thought":"second","thoughtNumber":0,"nextThoughtNeeded":7}`,
				want: []string{"totalThoughts is required", "thoughtNumber must be at least 1", "nextThoughtNeeded must be"},
				kind: recourse.KindMissingParam, origin: recourse.OriginCaller, effect: recourse.EffectNone,
			},
			{ // allowed by the schema, refused by the server
				tool: "sequentialthinking", arguments: `{"thought":"second","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":"maybe"}`,
				want: []string{`Expected boolean or \"true\"/\"false\" string, received \"maybe\" at nextThoughtNeeded`},
				kind: recourse.KindInvalidType, origin: recourse.OriginCaller, effect: recourse.EffectNone,
			},
			{ // refused by the schema, although the server would accept it
				tool: "sequentialthinking", arguments: `{"thought":"second","thoughtNumber":"2","totalThoughts":2,"nextThoughtNeeded":true}`,
				want: []string{"thoughtNumber must be an integer"},
				kind: recourse.KindInvalidType, origin: recourse.OriginCaller, effect: recourse.EffectNone,
			},
			{tool: "sequential_thinking", arguments: `{}`, kind: recourse.KindUnknownTool, want: []string{"Did you mean sequentialthinking?"}},
		},
		// The tool declares that it only reads, so the call is repeated with the next process, which has not heard the
		// first thought.
		held: step{
			tool: "sequentialthinking", arguments: think + `,"branchFromThought":1,"branchId":` + quoted(holdText) + `}`,
			want: []string{`"thoughtHistoryLength":1`},
		},
	}
}

// everythingOnStdio is tried only briefly, since it has its own tests. Nothing that says what its tools do is believed.
func everythingOnStdio(tb testing.TB, _ string) local {
	tb.Helper()
	return local{
		npmServer: newNPMServer(tb, "everything", "stdio"),
		keys:      []string{"trust_annotations: false", "profile: none"},
		works: []step{
			{tool: "get-sum", arguments: `{"a":1,"b":2}`, want: []string{"is 3"}},
			{tool: "get-tiny-image", arguments: `{}`, want: []string{`"image/png"`}},
		},
		held: step{
			tool: "echo", arguments: `{"message":` + quoted(holdText) + `}`, want: []string{"process ended"},
			kind: recourse.KindUnreachable, origin: recourse.OriginGateway, effect: recourse.EffectUnknown, // whatever its annotations say
		},
		proof: step{tool: "echo", arguments: `{"message":"m"}`, want: []string{"Echo: m"}},
	}
}

// entry returns the keys of the server's entry.
func (l local) entry(tb testing.TB) []string {
	tb.Helper()
	return append([]string{"command: " + flow(tb, l.Command), "env: " + flow(tb, l.Environ)}, l.keys...)
}

// flow returns a value as JSON, which is also YAML.
func flow(tb testing.TB, v any) string {
	tb.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

// The reference servers work through the gateway, over HTTP and wrapped on stdio, as they do alone; their failures are
// reported, and the client's session survives if they end during a call. This is a sample: each client meets one
// server, and each server is served to one client and wrapped for another.
func TestLocalServers(t *testing.T) {
	t.Parallel()
	testLocalServers(t)
}

// The remaining combinations.
func TestLongLocalServers(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testLocalServers(t)
}

func testLocalServers(t *testing.T) {
	t.Helper()
	for i, client := range clients() {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			runLocals(t, i, client.open(t))
		})
	}
}

// runLocals takes a program to its servers; number is the client's.
func runLocals(t *testing.T, number int, p program) {
	t.Helper()
	for i, l := range locals() {
		if testkit.Sampled(t, number+2*i, 5) {
			t.Run(l.name+", served", func(t *testing.T) {
				use(t, p, l.open(t, folder(t)), func(ctx context.Context, server local) error {
					return p.connect(ctx, start(t, "", server.entry(t)...).url, nil)
				})
			})
		}
		if testkit.Sampled(t, number+2*i+1, 5) {
			t.Run(l.name+", wrapped", func(t *testing.T) {
				use(t, p, l.open(t, folder(t)), func(ctx context.Context, server local) error {
					command, environ := wrapped(t, server.entry(t)...)
					return p.launch(ctx, command, environ)
				})
			})
		}
	}
}

// folder returns a new folder by its path without symbolic links, which the servers use, too.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// use connects a program to a server, takes all steps, and ends the server.
func use(t *testing.T, p program, l local, connect func(context.Context, local) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := connect(ctx, l); err != nil {
		t.Fatalf("connect: %v", err)
	}
	for _, step := range slices.Concat(l.works, l.fails) {
		take(ctx, t, p, step)
	}
	killed := make(chan error, 1)
	go func() { killed <- l.Kill(ctx) }()
	take(ctx, t, p, l.held)
	if err := <-killed; err != nil {
		t.Error(err)
	}
	if l.proof.name() != "" {
		take(ctx, t, p, l.proof)
	}
	take(ctx, t, p, l.works[0])
}

// ofModernEra matches the members that the modern era adds to a result.
var ofModernEra = regexp.MustCompile(`(,"(resultType|ttlMs|cacheScope)":("complete"|"private"|0))+}$`)

// Answers of these servers pass through byte for byte. This is a sample: each server in one way.
func TestLocalServersByteForByte(t *testing.T) {
	t.Parallel()
	testByteForByte(t)
}

// The remaining ways.
func TestLongLocalServersByteForByte(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testByteForByte(t)
}

func testByteForByte(t *testing.T) {
	t.Helper()
	ways := []struct {
		name string
		take func(context.Context, *testing.T, local) []string
	}{
		{"wrapped", func(ctx context.Context, t *testing.T, server local) []string {
			t.Helper()
			command, environ := wrapped(t, server.entry(t)...)
			return overStdio(ctx, t, command, environ, server.works)
		}},
		{"served", func(ctx context.Context, t *testing.T, server local) []string {
			t.Helper()
			return overHTTP(ctx, t, start(t, "", server.entry(t)...).url, testkit.Legacy, server.works)
		}},
		{"served in the modern era", func(ctx context.Context, t *testing.T, server local) []string {
			t.Helper()
			got := overHTTP(ctx, t, start(t, "", server.entry(t)...).url, testkit.Modern, server.works)
			for i := range got { // the modern era's members are at the end
				got[i] = ofModernEra.ReplaceAllString(got[i], "}")
			}
			return got
		}},
	}
	for row, l := range locals() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			dir := folder(t)
			server := l.open(t, dir)
			want := overStdio(ctx, t, server.Command, server.Environ, server.works)
			for column, way := range ways {
				if !testkit.Sampled(t, row+column, len(ways)) {
					continue
				}
				if diff := cmp.Diff(want, way.take(ctx, t, l.open(t, dir))); diff != "" {
					t.Errorf("%s (-direct +through):\n%s", way.name, diff)
				}
			}
		})
	}
}

// overHTTP returns the results of the steps byte for byte.
func overHTTP(ctx context.Context, t *testing.T, url string, era testkit.Era, steps []step) []string {
	t.Helper()
	c := testkit.NewClient(t, url, era)
	if _, err := c.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, step := range steps {
		method, params := step.request()
		answer, err := c.Request(ctx, method, params)
		if err != nil || answer.Message == nil {
			t.Fatalf("%s: %v %+v", step.name(), err, answer)
		}
		results = append(results, string(answer.Message.Result))
	}
	return results
}

// overStdio does the same with a server that it starts.
func overStdio(ctx context.Context, t *testing.T, command []string, environ map[string]string, steps []step) []string {
	t.Helper()
	var results []string
	for _, m := range messagesOnStdio(ctx, t, command, environ, steps) {
		results = append(results, string(m.Result))
	}
	return results
}

// messagesOnStdio starts a server, and returns its answers to the steps.
func messagesOnStdio(ctx context.Context, t *testing.T, command []string, environ map[string]string, steps []step) []testkit.Message {
	t.Helper()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.Stderr = os.Environ(), t.Output()
	for name, value := range environ {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stdin.Close() // this ends the server
		_ = cmd.Wait()
	}()
	out := bufio.NewReader(stdout)
	request := func(id int, method, params string) testkit.Message {
		if _, err := fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := out.ReadBytes('\n')
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			var m testkit.Message
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("%s: %v: %s", method, err, line)
			}
			if string(m.ID) == strconv.Itoa(id) && m.Method == "" {
				return m
			}
		}
	}
	request(0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`)
	if _, err := io.WriteString(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	var messages []testkit.Message
	for i, step := range steps {
		method, params := step.request()
		messages = append(messages, request(i+1, method, params))
	}
	return messages
}

// request returns the step as a method and its params.
func (s step) request() (method, params string) {
	switch {
	case s.tool != "":
		return "tools/call", `{"name":` + quoted(s.tool) + `,"arguments":` + s.arguments + `}`
	case s.params == "":
		return s.method, "{}"
	default:
		return s.method, s.params
	}
}
