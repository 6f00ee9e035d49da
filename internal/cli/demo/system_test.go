package demo_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/cli/demo"
)

// Each reference system shows its failures in the form of its contract.
func TestSystem(t *testing.T) {
	t.Parallel()
	shown := map[string][]string{
		"commerce": {`"success":true`, "Invalid params:", `"originalError":"ORDER_NOT_FOUND"`, "effect_unknown", `"id":"SO-1004"`},
		"fieldmcp": {
			`"error":false`, "FIELD_NOT_FOUND", "PARTIAL_SUCCESS", "INSUFFICIENT_DATA", `"retryAfter":1,`,
			"PROVIDER_NOT_CONNECTED", "/connect/", "MISSING_SCOPE", "/connect/", `["ag2"]`, `"error":false`, "TOKEN_REVOKED", "/connect/",
			`"error":false`, "TOKEN_EXPIRED", "/connect/", `"error":false`,
		},
		"patterns": {"memento", "needsInput:v1", "singleton", `"statusCode": 429`, "Network error: ", "CLIENT_ERROR"},
		"studies":  {"next_action", "[validation_error]", "[network_error]", "study_get(", "[empty_audience]", "[insufficient_credits]"},
		"terra":    {"HTTP 401", "HTTP 502", "(an empty body)", "fields or select are required", "invalid user id"},
	}
	for _, name := range demo.Systems() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := show(&out).System(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if len(shown[name]) == 0 {
				t.Error("no expectation for this system")
			}
			rest := out.String()
			for _, want := range shown[name] {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("no %q in what follows:\n%s", want, rest)
				}
				rest = after
			}
		})
	}
}

// A system keeps serving until it is stopped, and says how to connect to it.
func TestSystemKeepsServing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	s := show(nil)
	s.Out, s.Once = in, false
	ended := make(chan error, 1)
	go func() {
		err := s.System(ctx, "fieldmcp")
		ended <- err
		_ = in.CloseWithError(io.EOF)
	}()
	lines, way := bufio.NewScanner(out), false
	for lines.Scan() {
		way = way || strings.Contains(lines.Text(), `--header "Authorization: Bearer field_live_`)
		if strings.HasPrefix(lines.Text(), "    Open http://127.0.0.1:") { // the rest is for the farmer
			cancel()
		}
	}
	if err := <-ended; err != nil || ctx.Err() == nil || !way {
		t.Errorf("%v, and the way to connect was shown: %t, %t", err, way, ctx.Err() != nil)
	}
	cancel()
}

func TestStdio(t *testing.T) {
	t.Parallel()
	for _, name := range demo.Systems() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := io.Pipe()
			answers, writer := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- show(nil).Stdio(t.Context(), name, server, writer)
				_ = writer.Close()
			}()
			lines := bufio.NewScanner(answers)
			ask := func(id int, method, params string) string {
				if _, err := fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
					t.Fatal(err)
				}
				lines.Scan()
				return lines.Text()
			}
			ask(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
			if _, err := io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
				t.Fatal(err)
			}
			if list := ask(2, "tools/list", `{}`); !strings.Contains(list, `"inputSchema"`) {
				t.Errorf("tools/list: %s", list)
			}
			if name == "terra" { // it needs to know the caller
				const query = `{"name":"get_sleep_data","arguments":{"fields":["awakenings"]}}`
				if answer := ask(3, "tools/call", query); !strings.Contains(answer, `{"awakenings":2}`) {
					t.Errorf("tools/call: %s", answer)
				}
			}
			_ = client.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUnknownSystem(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"System": show(nil).System(t.Context(), "nothing"),
		"Stdio":  show(nil).Stdio(t.Context(), "nothing", strings.NewReader(""), io.Discard),
	} {
		if err == nil {
			t.Errorf("%s started an unknown system", name)
		}
	}
}

// A setting makes a system fail in additional ways.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ system, setting, want string }{
		{"commerce", "unsupported", `"code":5001`},
		{"commerce", "limit=1", `"code":3001`},
		{"commerce", "timeout=100ms", `"code":3002`},
		{"patterns", "limit=1", `"statusCode": 429`},
		{"patterns", "library-key=wrong", "Authentication required: "},
		{"patterns", "key=secret", "memento"}, // its calls then send the key
		{"fieldmcp", "as=lapsed", `"code":"TOKEN_EXPIRED"`},
		{"fieldmcp", "as=revoked", `"code":"TOKEN_REVOKED"`},
		{"fieldmcp", "as=narrow", `"code":"MISSING_SCOPE"`},
		{"fieldmcp", "as=new", `"code":"PROVIDER_NOT_CONNECTED"`},
		{"fieldmcp", "as=suspended", "HTTP 403"},
		{"fieldmcp", "minute=2", "HTTP 429"},
		{"fieldmcp", "month=2", `"monthlyRemaining":0`},
		{"studies", "token=prod_old", "[auth_failed] Invalid or expired token."},
		{"studies", "token=staging_dana", "[auth_failed] The token was signed with the key of another environment."},
		{"studies", "token=prod_rui", "[forbidden] The workspace belongs to somebody else."},
		{"studies", "hosted", "[validation_error] connect_status works on the user's own machine"},
		{"studies", "tunnel=there-is-no-such-program", "[cloudflared_missing] there-is-no-such-program"},
		{"studies", "tunnel=go", "[tunnel_startup_failed] The tunnel did not come up: the program has ended: "},
	} {
		t.Run(tt.system+" "+tt.setting, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s := show(&out)
			var err error
			if s.With, err = demo.ParseSettings(tt.system, []string{tt.setting}); err != nil {
				t.Fatal(err)
			}
			if err := s.System(t.Context(), tt.system); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(unwrapped(out.String()), tt.want) {
				t.Errorf("no %q in:\n%s", tt.want, out.String())
			}
		})
	}
}

// On stdio, a setting says who calls.
func TestSettingsOnStdio(t *testing.T) {
	t.Parallel()
	const sleep, organization = `"get_sleep_data","arguments":{"fields":["awakenings"]}`, `"deere_get_organization","arguments":{"orgId":"ORG-1"}`
	for setting, tt := range map[string]struct{ system, tool, want string }{
		"nobody":      {"terra", sleep, "request context is unavailable"},
		"key=another": {"terra", sleep, "unauthorized"},
		"user=alice":  {"terra", sleep, "invalid user id"},
		"user=8f7c2a10-5f1e-4f43-9d0c-000000000006": {"terra", sleep, "something went wrong"},
		"as=suspended": {"fieldmcp", organization, "The access of this organization is suspended."},
		"as=new":       {"fieldmcp", organization, "PROVIDER_NOT_CONNECTED"},
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			s := show(nil)
			var err error
			if s.With, err = demo.ParseSettings(tt.system, []string{setting}); err != nil {
				t.Fatal(err)
			}
			call := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":` + tt.tool + `}}
`
			server, client := io.Pipe()
			answers, writer := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- s.Stdio(t.Context(), tt.system, server, writer)
				_ = writer.Close()
			}()
			go func() { _, _ = io.WriteString(client, call) }()
			lines := bufio.NewScanner(answers)
			lines.Scan()
			lines.Scan()
			if !strings.Contains(lines.Text(), tt.want) {
				t.Errorf("%s", lines.Text())
			}
			_ = client.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A text that is not a setting is refused with a list of them.
func TestSettingMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"limits=1": "limit=N", "limit": "limit=N", "limit=0": "a number from 1", "limit=many": "a number", "unsupported=1": "write unsupported",
		"timeout=0": "a duration", "timeout=soon": "a duration",
	} {
		if _, err := demo.ParseSettings("commerce", []string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if help := demo.SettingsHelp(); !strings.Contains(help, "limit=N: ") || !strings.Contains(help, "terra") {
		t.Error(help)
	}
}

// continued matches a line break inside a long line.
var continued = regexp.MustCompile(`\n +│ `)

// unwrapped returns the output with long lines as one.
func unwrapped(shown string) string { return continued.ReplaceAllString(shown, " ") }
