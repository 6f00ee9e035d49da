package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/lab/record"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

const head = `{"format":"recourse recording","version":1,"in":"A","transport":"stdio","server":"farmd","masked":[]}` + "\n"

// written returns the name of a recording with these lines.
func written(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// opened returns a player of a recording.
func opened(t testing.TB, name string) *record.Player {
	t.Helper()
	r, err := record.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return &record.Player{Recording: r, By: record.ByArguments}
}

// recorded records what is sent to a server over HTTP by way of the URL.
func recorded(t *testing.T, server string) (at, name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "session.jsonl")
	r, err := record.Create(name, record.Options{Transport: "http", Server: server, Max: 1 << 20, Warn: func(text string) { t.Error(text) }})
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{}
	front := httptest.NewServer(inject.Pass(record.NewTransport(r, base), target))
	t.Cleanup(func() {
		front.Close()
		base.CloseIdleConnections()
		_ = r.Close()
	})
	return front.URL + target.Path, name
}

// An official client gets the same from a recording as from the server, its questions included.
func TestOfficialClient(t *testing.T) {
	t.Parallel()
	for _, typescript := range []sdk.TypeScript{sdk.TSv1, sdk.TSv2} {
		t.Run(string(typescript), func(t *testing.T) {
			t.Parallel()
			at, name := recorded(t, sdk.Everything(t))
			want := session(t, typescript, at)
			player := opened(t, name)
			replay := httptest.NewServer(player.Handler())
			defer replay.Close()
			got := session(t, typescript, replay.URL)
			for i := range want {
				if want[i] != got[i] {
					t.Errorf("got  %s\nwant %s", got[i], want[i])
				}
			}
			if err := player.Missing(); err != nil {
				t.Error(err)
			}
		})
	}
}

// session returns what a client gets from server-everything.
func session(t *testing.T, typescript sdk.TypeScript, at string) (got []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := sdk.NewTSClient(t, typescript)
	keep := func(raw json.RawMessage, err error) {
		if err != nil {
			raw = json.RawMessage(err.Error())
		}
		got = append(got, string(raw))
	}
	keep(client.Connect(ctx, sdk.TSConnect{URL: at, Era: testkit.Legacy}))
	keep(client.ListTools(ctx))
	for _, call := range [][2]string{
		{"echo", `{"message":"one"}`},
		{"echo", `{"message":"two"}`},
		{"echo", `{"message":3}`},
		{"get-structured-content", `{"location":"Chicago"}`},
		{"trigger-long-running-operation", `{"duration":0.1,"steps":2}`},
		{"trigger-sampling-request", `{"prompt":"x","maxTokens":5}`},
		{"trigger-elicitation-request", `{}`},
		{"no-such-tool", `{}`},
	} {
		keep(client.CallTool(ctx, call[0], call[1], 0))
	}
	keep(client.Request(ctx, "resources/list", `{}`))
	keep(client.Request(ctx, "prompts/get", `{"name":"no-such-prompt"}`))
	if err := client.Close(ctx); err != nil {
		t.Error(err)
	}
	return got
}

// HTTP statuses, their headers and bodies come as they came, and credentials are not kept.
func TestStatuses(t *testing.T) {
	t.Parallel()
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
		},
		func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{\"jsonrpc\":\"2.0\",\n \"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"you sent s3cr3ts3cr3t\"}]}}")
		},
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answers[n](w)
		n++
	}))
	defer server.Close()
	at, name := recorded(t, server.URL)
	call := func(at string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`,
		))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer s3cr3ts3cr3t")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join([]string{resp.Status, resp.Header.Get("Retry-After"), resp.Header.Get("WWW-Authenticate"), string(body)}, "|")
	}
	for range answers {
		call(at)
	}
	replay := httptest.NewServer(opened(t, name).Handler())
	defer replay.Close()
	for _, want := range []string{
		`401 Unauthorized||Bearer realm="x"|who are you?`, "503 Service Unavailable|7||",
		`200 OK|||{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"you sent [credential]"}]}}`,
	} {
		if got := call(replay.URL); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Pauses are kept when that is asked for, and cut short when the client has nothing more to say.
func TestSpeed(t *testing.T) {
	t.Parallel()
	name := written(t, head+
		`{"at":1,"in":"A","from":"client","message":{"jsonrpc":"2.0","id":"x","method":"ping"}}`+"\n"+
		`{"at":9,"in":"A","from":"server","message":{"jsonrpc":"2.0","id":"x","result":{}}}`+"\n")
	for speed, want := range map[float64]time.Duration{0: 0, 1: 8 * time.Second, 4: 2 * time.Second} {
		player := opened(t, name)
		player.Speed = speed
		synctest.Test(t, func(t *testing.T) {
			in, write := io.Pipe()
			answered := make(chan time.Duration, 1)
			began := time.Now()
			go func() {
				_ = player.Stdio(t.Context(), in, writer(func([]byte) {
					answered <- time.Since(began)
					_ = write.Close()
				}))
			}()
			_, _ = io.WriteString(write, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
			if got := <-answered; got != want {
				t.Errorf("speed %v: %v, want %v", speed, got, want)
			}
		})
	}
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// What is too large to be looked at is left out, and passes all the same.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "session.jsonl")
	r, err := record.Create(name, record.Options{Transport: "stdio", Max: 1 << 30, Warn: func(text string) { t.Error(text) }})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(r.FromClient(), `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`+"\n")
	_, _ = io.WriteString(r.FromServer(), `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("a", 5<<20)+`"}`+"\n")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || len(text) > 1000 || !bytes.Contains(text, []byte(`"leftOut":52429`)) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	var out strings.Builder
	err = opened(t, name).Stdio(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`), &out)
	if err == nil || !strings.Contains(out.String(), "it was too large") {
		t.Errorf("%s, %v", &out, err)
	}
}

// Whatever is left of a recording, it is played or refused.
func FuzzOpen(f *testing.F) {
	whole := head +
		`{"at":0.1,"in":"A","from":"client","message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}}` + "\n" +
		`{"at":0.2,"in":"A","from":"server","message":{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}}` + "\n" +
		`{"at":0.2,"in":"A","from":"server","message":{"jsonrpc":"2.0","id":9,"method":"roots/list"}}` + "\n" +
		`{"at":0.3,"in":"A","from":"server","message":{"jsonrpc":"2.0","id":1,"result":{}}}` + "\n" +
		`{"at":0.4,"in":"A-1","from":"client","http":"POST","message":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}}` + "\n" +
		`{"at":0.5,"in":"A-1","from":"server","status":500,"text":"<html>","end":"EOF"}` + "\n"
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)/2]))
	f.Add([]byte(head + head))
	const said = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := record.Open(written(t, string(text)))
		if err != nil {
			return
		}
		defer r.Close()
		p := &record.Player{Recording: r, By: record.ByOrder}
		_ = p.Stdio(t.Context(), strings.NewReader(said), io.Discard)
	})
}
