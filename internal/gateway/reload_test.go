package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// During repeated reloads with the same configuration, with other keys for answers and with other keys for the way to the
// server, no call fails and none runs twice.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	entry := "servers: {farm: {url: '" + srv.URL() + "', timeout: %ds, title: '%s'}, %s: {url: '" + srv.URL() + "'}}\n"
	g, _ := gatewaytest.New(t, fmt.Sprintf(entry, 10, "Farm", "other"))
	url := testkit.Serve(t, g) + "/farm/mcp"
	const callers = 4
	var clients sync.WaitGroup
	var done atomic.Bool
	var references [callers][]string
	for i := range callers {
		client := (&gatewaytest.Front{URL: url}).Client(t, testkit.Eras[i%len(testkit.Eras)])
		clients.Go(func() {
			for n := 0; !done.Load(); n++ {
				reference := fmt.Sprintf("R-%d-%d", i, n)
				references[i] = append(references[i], reference)
				a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"`+reference+`","amount":1}`)
				if err != nil || !a.Succeeded() {
					t.Errorf("%s: got %+v, %v", reference, a, err)
					return
				}
			}
		})
	}
	for n := range 20 {
		before := srv.Executions(testkit.OrderCreate)
		if err := srv.Await(t.Context(), func() bool { return srv.Executions(testkit.OrderCreate) >= before+callers || t.Failed() }); err != nil {
			t.Fatal(err)
		}
		gatewaytest.Reload(t, g, fmt.Sprintf(entry, 10+n/2%2, []string{"Farm", "Barn"}[n/4%2], []string{"other", "another"}[n/3%2]))
	}
	done.Store(true)
	clients.Wait()
	for i := range references {
		for _, reference := range references[i] {
			if n := srv.Orders(reference); n != 1 {
				t.Errorf("%s: created %d times", reference, n)
			}
		}
	}
}

// A reload does not affect a call under way, even if it removes its server. The next call uses the new configuration.
func TestReloadDuringACall(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		for _, tt := range []struct {
			name, entry string
			status      int // of the next call
		}{
			{"kept", "farm: {url: '%s', timeout: 10s}", http.StatusOK},
			{"changed", "farm: {url: '%s', timeout: 20s, headers: {X-Key: other}}", http.StatusOK},
			{"elsewhere", "farm: {url: 'http://127.0.0.1:1/mcp', path: /moved/mcp}, new: {url: '%s', path: /farm/mcp}", 0},
			{"removed", "barn: {url: '%s'}", http.StatusNotFound},
		} {
			t.Run(era.String()+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"', timeout: 10s}}\n")
				client := (&gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}).Client(t, era)
				calls := make(chan *testkit.Answer, 1)
				go func() { calls <- progressing(t, client, 4, 50) }()
				if err := srv.Await(t.Context(), func() bool { return srv.Executions(testkit.Progress) == 1 }); err != nil {
					t.Fatal(err)
				}
				gatewaytest.Reload(t, g, "servers: {"+fmt.Sprintf(tt.entry, srv.URL())+"}\n")
				next, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
				want := tt.status
				if want == 0 { // another server, which does not know the session
					want = map[testkit.Era]int{testkit.Legacy: http.StatusNotFound, testkit.Modern: http.StatusOK}[era]
				}
				if err != nil || next.Status != want {
					t.Errorf("the next call: got %v, HTTP %d, want %d: %s", err, next.Status, want, next.Body)
				}
				if a := <-calls; !a.Succeeded() || len(a.Events) != 5 || srv.Executions(testkit.Progress) != 1 {
					t.Errorf("the call under way: got %d executions: %s", srv.Executions(testkit.Progress), a.Body)
				}
			})
		}
	}
}

// A reload keeps sessions, unless it changes whose they are.
func TestReloadKeepsSessions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, more string
		status     int
		stream     bool // the stream goes on
	}{
		{"unchanged", "", http.StatusOK, true},
		{"keys for clients changed", ", timeout: 5s, contract: fieldmcp, tools: {echo: {read_only: true}}", http.StatusOK, true},
		{"keys for the way to the server changed", ", title: Barn, headers: {X-Key: k}", http.StatusOK, false},
		{"key that tells callers apart changed", ", forward: [Authorization]", http.StatusNotFound, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
			client := (&gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}).Client(t, testkit.Legacy)
			stream, err := client.Listen(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 1 }); err != nil {
				t.Fatal(err)
			}
			gatewaytest.Reload(t, g, "# one line further down\nservers: {farm: {url: '"+srv.URL()+"'"+tt.more+"}}\n")
			a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
			if err != nil || a.Status != tt.status {
				t.Errorf("got %v, HTTP %d, want %d: %s", err, a.Status, tt.status, a.Body)
			}
			if n := srv.Messages("initialize"); n != 1 {
				t.Errorf("got %d sessions", n)
			}
			if tt.stream && srv.Streams() != 1 {
				t.Error("the stream has ended")
			}
			if !tt.stream {
				if _, err := stream.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("stream: got %v", err)
				}
			}
		})
	}
}

// A removed server's stream lasts as long as its last call, which may need it, and then ends.
func TestReloadEndsStreamsAfterCalls(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"', timeout: 10s}}\n")
	client := (&gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}).Client(t, testkit.Legacy)
	stream, err := client.Listen(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	calls := make(chan *testkit.Answer, 1)
	go func() { calls <- progressing(t, client, 4, 50) }()
	running := func() bool { return srv.Executions(testkit.Progress) == 1 && srv.Streams() == 1 }
	if err := srv.Await(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Reload(t, g, "servers: {barn: {url: '"+srv.URL()+"'}}\n")
	if srv.InFlight() > 1 && srv.Streams() != 1 {
		t.Error("the stream has ended before the call")
	}
	if a := <-calls; !a.Succeeded() {
		t.Errorf("the call under way: got %s", a.Body)
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("stream: got %v", err)
	}
	if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 0 }); err != nil {
		t.Error(err)
	}
}

const ownContract = "{form: 1, name: own, extends: recourse, title: %s, codes: [{code: SOLD_OUT, kind: conflict, hint: Look again.}]}\n"

// The log says what a reload has changed.
func TestReloadIsLogged(t *testing.T) {
	t.Parallel()
	const before = `
servers:
  same: {url: 'http://127.0.0.1:1/mcp', tools: {a: {read_only: true, verify: {tool: b, with: {x: [1, {y: z}]}}}}}
  timing: {url: 'http://127.0.0.1:1/mcp'}
  tools: {url: 'http://127.0.0.1:1/mcp', tools: {a: {read_only: true}}}
  gone: {url: 'http://127.0.0.1:1/mcp'}
`
	const after = `
max_request: 1MiB
servers:
  new: {url: 'http://127.0.0.1:1/mcp'}
  tools: {url: 'http://127.0.0.1:1/mcp', tools: {a: {read_only: false}}}
  timing: {url: 'http://127.0.0.1:1/mcp', timeout: 1s}
  same:
    tools: {a: {read_only: true, verify: {tool: b, with: {x: [1, {y: z}]}}}}
    url: 'http://127.0.0.1:1/mcp'
`
	const one = "servers: {one: {url: 'http://127.0.0.1:1/mcp', contract: own}}\n"
	text := func(title string) []string { return []string{fmt.Sprintf(ownContract, title)} }
	type parts struct {
		Msg     string   `json:"msg"`
		Added   []string `json:"added"`
		Removed []string `json:"removed"`
		Changed []string `json:"changed"`
		Kept    []string `json:"kept"`
	}
	for _, tt := range []struct {
		name          string
		before, after string
		texts         [2][]string // of contracts
		want          parts
	}{
		{
			"servers", before, after,
			[2][]string{},
			parts{Added: []string{"new"}, Removed: []string{"gone"}, Changed: []string{"tools", "timing"}, Kept: []string{"same"}},
		},
		{"the same contract", one, one, [2][]string{text("A"), text("A")}, parts{Kept: []string{"one"}}},
		{"another contract", one, one, [2][]string{text("A"), text("B")}, parts{Changed: []string{"one"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := &gatewaytest.Log{}
			cfg, set := gatewaytest.Parse(t, tt.before, tt.texts[0]...)
			g, err := gateway.New(cfg, set, slog.New(slog.NewJSONHandler(log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(g.Close)
			gatewaytest.Reload(t, g, tt.after, tt.texts[1]...)
			var got parts
			if err := json.Unmarshal([]byte(log.String()), &got); err != nil {
				t.Fatal(err)
			}
			tt.want.Msg = "reloaded"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A refused reload changes nothing.
func TestReloadRefused(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, log := gatewaytest.New(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")
	f := &gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}
	client := f.Client(t, testkit.Legacy)
	cfg, _ := gatewaytest.Parse(t, "servers: {barn: {url: '"+srv.URL()+"'}, farm: {url: '"+srv.URL()+"', contract: own}}\n",
		fmt.Sprintf(ownContract, "Own"))
	if err := g.Reload(cfg, contract.Builtin()); err == nil || !strings.Contains(err.Error(), "server farm: there is no contract own") {
		t.Errorf("reload: got %v", err)
	}
	if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
		t.Errorf("got %+v, %v", a, err)
	}
	g.Close()
	if err := g.Reload(gatewaytest.Parse(t, "servers: {farm: {url: '"+srv.URL()+"'}}\n")); err == nil {
		t.Error("Reload succeeds after Close")
	}
	if strings.Contains(log.String(), "reloaded") {
		t.Errorf("got log %s", log)
	}
}

// New top-level keys hold from the next request on.
func TestReloadOfTheWholeGateway(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	entry := "servers: {farm: {url: '" + srv.URL() + "'}}\n"
	g, _ := gatewaytest.New(t, entry)
	client := (&gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}).Client(t, testkit.Legacy)
	call := func() string {
		return outcomeOf(t, client.MustCall(t, testkit.Echo, message(2000)))
	}
	if got := call(); got != "ok" {
		t.Errorf("before: got %s", got)
	}
	gatewaytest.Reload(t, g, "max_request: 1KiB\n"+entry)
	if got := call(); got != string(recourse.KindTooLarge) {
		t.Errorf("with a limit: got %s", got)
	}
	gatewaytest.Reload(t, g, entry)
	if got := call(); got != "ok" {
		t.Errorf("afterwards: got %s", got)
	}
}
