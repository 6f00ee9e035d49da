package gateway_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const (
	password = "hunter2-s3cr3t"
	dsn      = "postgres://farm:" + password + "@10.11.12.13:5432/orders"
)

// lookup is a tool that accepts any arguments.
var lookup = testkit.Tool{Name: "lookup"}

// Secrets and addresses are masked wherever a failure has them. Values of the caller's own arguments stay, since the
// sentence is about them.
func TestRedaction(t *testing.T) {
	t.Parallel()
	const arguments = `{"path":"/home/ann/plan.txt","host":"10.0.0.9:8080","list":[{"deep":"/var/data/x.csv"}]}`
	for _, c := range []struct {
		name, entry  string
		fault        testkit.Fault
		keep, masked []string
	}{
		{
			"arguments of the call", "redact: all",
			faults.ToolError("paths", "cannot read /home/ann/plan.txt and /var/data/x.csv on 10.0.0.9:8080, see /etc/farm/secret.conf on 10.0.0.7:5432"),
			[]string{"/home/ann/plan.txt", "/var/data/x.csv", "10.0.0.9:8080", "cannot read"},
			[]string{"/etc/farm/secret.conf", "10.0.0.7"},
		},
		{
			"structuredContent and _meta", "redact: all",
			faults.Result("structure", `{"content":[{"type":"text","text":"down"},{"type":"text","text":"`+dsn+`"}],"isError":true,`+
				`"structuredContent":{"db":"`+dsn+`","n":1.0},"_meta":{"com.example/x":"`+dsn+`","com.example/y":[ 1.0 ]},"x":{"y":"`+dsn+`"}}`),
			[]string{`"n":1.0`, `"com.example/y"`},
			[]string{password, "10.11.12.13"},
		},
		{
			"data of a JSON-RPC error", "redact: all",
			faults.RPCError("data", -32603, "down: "+dsn, `{"dsn":"`+dsn+`","trace":"main.go:17 +0x1b"}`),
			[]string{"down"},
			[]string{password, "10.11.12.13"},
		},
		{
			"JSON body of a status", "redact: all",
			faults.StatusWith("500", http.StatusInternalServerError, "application/json", `{"error":"cannot reach `+dsn+`"}`),
			nil,
			[]string{password, "10.11.12.13"},
		},
		{
			"secrets only", "redact: secrets", faults.ToolError("both", "at /etc/farm/x.conf on 10.0.0.7:5432 with "+dsn),
			[]string{"/etc/farm/x.conf", "10.0.0.7:5432"},
			[]string{password},
		},
		{"off", "redact: off", faults.ToolError("all", "with "+dsn), []string{dsn}, nil},
	} {
		for _, contract := range []string{"recourse", "fieldmcp"} {
			t.Run(c.name+"/"+contract, func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t, testkit.WithTools(lookup))
				f := gatewaytest.Start(t, srv.URL(), c.entry, "contract: "+contract, "tools: {lookup: {read_only: false}}")
				srv.Always("lookup", c.fault)
				a, err := f.Client(t, testkit.Modern).Call(t.Context(), "lookup", arguments)
				if err != nil || a.Succeeded() {
					t.Fatalf("got %+v, %v", a, err)
				}
				if e := gatewaytest.Record(t, a); e.RequestID == "" {
					t.Error("the record has no request id")
				}
				for _, text := range c.masked {
					if strings.Contains(string(a.Body), text) {
						t.Errorf("%q is in the answer: %s", text, a.Body)
					}
				}
				for _, text := range c.keep {
					if !strings.Contains(string(a.Body), text) {
						t.Errorf("%q is not in the answer: %s", text, a.Body)
					}
				}
				if c.name != "off" && strings.Contains(f.Log.String(), password) {
					t.Errorf("a password is in the log: %s", f.Log)
				}
			})
		}
	}
}

// A JSON-RPC error of another method than tools/call keeps its code, and is masked too.
func TestRedactionOfOtherMethods(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Modern)
	for _, fault := range []testkit.Fault{
		faults.RPCError("object", -32001, "down: "+dsn, `{"dsn":"`+dsn+`","n":1.0}`),
		faults.RPCError("text", -32001, "down: "+dsn, `"`+dsn+`"`),
		faults.RPCError("none", -32001, "down: "+dsn, ``),
		faults.Status(http.StatusServiceUnavailable, faults.HTML),
	} {
		srv.Always("x/invented", fault)
		a, err := client.Request(t.Context(), "x/invented", `{}`)
		if err != nil || a.Status != http.StatusOK || a.Message == nil || a.Message.Error == nil {
			t.Fatalf("%s: got %+v, %v", fault.Name, a, err)
		}
		for _, secret := range []string{password, "10.11.12.13"} {
			if strings.Contains(string(a.Body), secret) {
				t.Errorf("%s: %q is in %s", fault.Name, secret, a.Body)
			}
		}
		if strings.Contains(fault.Name, "50") == (a.Message.Error.Code == -32001) {
			t.Errorf("%s: got code %d", fault.Name, a.Message.Error.Code)
		}
	}
}

// Each failure has one line in the log, with everything that an operator needs.
func TestLogLine(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "title: The farm", "trust_annotations: true", "timeout: 20s")
	client := f.Client(t, testkit.Modern)
	client.Header = http.Header{"X-Request-Id": {"mine-1"}}
	limited := faults.StatusWith("429", http.StatusTooManyRequests, "text/plain", "over the limit of "+dsn).With("Retry-After", "30")
	srv.Always(testkit.OrderCreate, limited)
	if _, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`); err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(f.Log.String()), &line); err != nil {
		t.Fatalf("got log %s", f.Log)
	}
	cause, _ := line["cause"].(string)
	repeat, _ := line["not_repeated"].(string)
	if !strings.Contains(cause, "over the limit") || strings.Contains(cause, password) || repeat == "" {
		t.Errorf("got cause %q, repeat %q", cause, repeat)
	}
	if _, ok := line["ms"].(float64); !ok || line["time"] == nil {
		t.Errorf("got ms %v, time %v", line["ms"], line["time"])
	}
	if peer, _ := line["peer"].(string); !strings.HasPrefix(peer, "127.0.0.1:") {
		t.Errorf("got peer %q", peer)
	}
	for _, name := range []string{"time", "ms", "cause", "not_repeated", "peer"} {
		delete(line, name)
	}
	want := map[string]any{
		"level": "WARN", "msg": "failure", "request_id": "mine-1", "server": "farm", "tool": "order_create", "kind": "rate_limited",
		"see":  "https://github.com/recoursehq/recourse/blob/main/docs/failures.md#rate_limited",
		"code": "rate_limited", "origin": "server", "effect": "none", "attempts": 1.0, "wait": "30 s",
	}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

// For every failure that the gateway did not find itself, the log has the server's text or the connection's error,
// masked.
func TestLoggedCause(t *testing.T) {
	t.Parallel()
	for _, fault := range answered() {
		testkit.Virtual(t, fault.Name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			f := gatewaytest.Start(t, srv.URL(), "timeout: 5s", "trust_annotations: true")
			client := f.Client(t, testkit.Modern)
			srv.Always(testkit.GetField, fault)
			_, _ = exchange(t, client, `{"name":"get_field","arguments":{"field_id":"F-1"}}`) // the answer may be broken off
			for _, l := range f.Log.Failures(t) {
				if l.Cause == "" && !strings.Contains(l.Note, "beyond the decision window") {
					t.Errorf("got %+v, want a cause", l)
				}
			}
			for _, secret := range faults.Secrets() {
				if strings.Contains(f.Log.String(), secret) && strings.Contains(secret, "pass") {
					t.Errorf("%q is in the log: %s", secret, f.Log)
				}
			}
		})
	}
}

// The server's text about a failing tool is in the log. It is masked before it is cut, since half a secret may not be
// recognised.
func TestLoggedWords(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	for name, answer := range map[string]testkit.Fault{
		"result":         faults.ToolError("result", "the store lies fallow "+dsn),
		"long":           faults.ToolError("long", "the store lies fallow "+strings.Repeat("x ", 2020)+secret),
		"JSON-RPC error": faults.RPCError("error", -32603, "the store lies fallow "+dsn, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := gatewaytest.Start(t, srv.URL(), "trust_annotations: true")
			client := f.Client(t, testkit.Modern)
			srv.Always(testkit.GetField, answer)
			if _, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, "there is a line", func() bool { return len(f.Log.Failures(t)) == 1 })
			if l := f.Log.Failures(t)[0]; !strings.Contains(l.Cause, "the store lies fallow") {
				t.Fatalf("got %+v", l)
			}
			if strings.Contains(f.Log.String(), password) || strings.Contains(f.Log.String(), secret[:12]) {
				t.Errorf("a secret is in the log: %s", f.Log)
			}
		})
	}
}

// With mode observe, the log has the text that the client got, and the one that enforcing would write.
func TestObservedLine(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "mode: observe", "trust_annotations: true")
	client := f.Client(t, testkit.Modern)
	srv.Always(testkit.GetField, faults.ToolError("closed", "the store lies fallow"))
	if _, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`); err != nil {
		t.Fatal(err)
	}
	srv.Always(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.HTML))
	if _, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "there are two lines", func() bool { return len(f.Log.Failures(t)) == 2 })
	lines := f.Log.Failures(t)
	if l := lines[0]; l.Before != "the store lies fallow" || l.After != "[unknown] the store lies fallow\nNothing was changed." {
		t.Errorf("got before %q, after %q", l.Before, l.After)
	}
	if l := lines[1]; !strings.Contains(l.Before, "503") || !strings.HasPrefix(l.After, "[unavailable] ") || l.NotRepeated != "failures are only observed" {
		t.Errorf("got before %q, after %q, not repeated since %q", l.Before, l.After, l.NotRepeated)
	}
}

// A client that tries the modern era first causes no warning; a call to an unknown path does.
func TestQuietAndLoudLines(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"enforce", "observe"} {
		srv := testkit.NewServer(t, testkit.WithEra(testkit.Legacy))
		f := gatewaytest.Start(t, srv.URL(), "mode: "+mode)
		client := testkit.NewClient(t, f.URL, testkit.Modern)
		if _, err := client.Request(t.Context(), "server/discover", `{}`); err != nil {
			t.Fatal(err)
		}
		for _, l := range f.Log.Lines(t) {
			if l.Level == "WARN" {
				t.Errorf("%s: got %+v", mode, l)
			}
		}
		client.URL = strings.Replace(f.URL, "/farm/", "/barn/", 1)
		if _, err := client.Request(t.Context(), "tools/list", `{}`); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the line says where and who", func() bool {
			return slices.ContainsFunc(f.Log.Lines(t), func(l gatewaytest.LogLine) bool {
				return l.Path == "/barn/mcp" && strings.HasPrefix(l.Peer, "127.0.0.1:")
			})
		})
	}
}

// A failed call has one line, even if it was sent several times; a success has none.
func TestLinesPerFailure(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "trust_annotations: true", "timeout: 5s")
	client := f.Client(t, testkit.Legacy)
	srv.Next(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain))
	for range 3 {
		if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F"}`); err != nil || !a.Succeeded() {
			t.Fatalf("got %+v, %v", a, err)
		}
	}
	if lines := f.Log.Failures(t); len(lines) != 0 {
		t.Errorf("got a line about a success: %s", f.Log)
	}
	srv.Always(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain))
	if _, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F"}`); err != nil {
		t.Fatal(err)
	}
	if lines := f.Log.Failures(t); len(lines) != 1 || lines[0].Attempts != 3 || lines[0].Kind != string(recourse.KindUnavailable) {
		t.Errorf("got log %s", f.Log)
	}
	if _, err := client.Call(t.Context(), testkit.GetField, `{"field_id":""}`); err != nil {
		t.Fatal(err)
	}
	if lines := f.Log.Failures(t); len(lines) != 2 || lines[1].Level != "INFO" || lines[1].Origin != "caller" {
		t.Errorf("got log %s", f.Log)
	}
}
