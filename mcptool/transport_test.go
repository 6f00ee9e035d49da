package mcptool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/retry"
)

// backend is a provider that answers as the path says.
func backend(t *testing.T) *httptest.Server {
	t.Helper()
	answer := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	limited := func(header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", answer(200, "application/json", `{"ok":true,"name":"North"}`))
	mux.HandleFunc("/404", answer(404, "application/json", `{"problem":{"code":"FIELD_GONE"}}`))
	mux.HandleFunc("/coded", answer(403, "text/plain", `{"problem":{"code":"LIMIT"}}`))
	mux.HandleFunc("/number", answer(400, "application/json", `{"problem":{"code":4711}}`))
	mux.HandleFunc("/500", answer(500, "text/html", `<html>password=hunter2</html>`))
	mux.HandleFunc("/lie", answer(200, "application/json", `{"ok":false,"problem":{"code":"LIMIT"}}`))
	mux.HandleFunc("/plain-lie", answer(200, "application/vnd.deere+json", `{"ok":false}`))
	mux.HandleFunc("/html", answer(200, "text/html", `<h1>Sign in</h1>`))
	mux.HandleFunc("/none", answer(204, "", ""))
	mux.HandleFunc("/seconds", limited("Retry-After", "12"))
	mux.HandleFunc("/date", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/negative", limited("Retry-After", "-5"))
	mux.HandleFunc("/year", limited("Retry-After", "31536000"))
	mux.HandleFunc("/past", limited("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"))
	mux.HandleFunc("/reset", limited("X-RateLimit-Reset", "30"))
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/reset-connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"ok":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func TestTransport(t *testing.T) {
	t.Parallel()

	srv := backend(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + ln.Addr().String()
	_ = ln.Close()

	type outcome struct {
		Kind    recourse.Kind
		Effect  recourse.Effect
		After   time.Duration
		Status  int
		Code    string
		Message string
	}
	const none, unknown = recourse.EffectNone, recourse.EffectUnknown
	tests := map[string]struct {
		method, url string
		want        outcome // without a kind, a success
	}{
		"success":                                {"GET", srv.URL + "/ok", outcome{}},
		"success of a write":                     {"POST", srv.URL + "/ok", outcome{}},
		"no content":                             {"DELETE", srv.URL + "/none", outcome{}},
		"not found":                              {"GET", srv.URL + "/404", outcome{"not_found", none, 0, 404, "FIELD_GONE", "Deere does not have what was asked for."}},
		"a code overrides the status":            {"POST", srv.URL + "/coded", outcome{"limit_reached", none, 0, 403, "LIMIT", recourse.KindLimitReached.Sentence()}},
		"a number":                               {"POST", srv.URL + "/number", outcome{"client_error", none, 0, 400, "4711", "Deere refused the request (HTTP 400)."}},
		"a failed read":                          {"GET", srv.URL + "/500", outcome{"server_error", none, 0, 500, "", "Deere failed (HTTP 500)."}},
		"a failed write":                         {"POST", srv.URL + "/500", outcome{"server_error", unknown, 0, 500, "", "Deere failed (HTTP 500)."}},
		"a failure as a success":                 {"POST", srv.URL + "/lie", outcome{"limit_reached", none, 0, 0, "LIMIT", recourse.KindLimitReached.Sentence()}},
		"a failure as a success, without a code": {"POST", srv.URL + "/plain-lie", outcome{"unknown", unknown, 0, 0, "", "Deere answered that it failed."}},
		"a page":                                 {"GET", srv.URL + "/html", outcome{"bad_response", none, 0, 0, "", "Deere sent an invalid response."}},
		"limited, seconds":                       {"POST", srv.URL + "/seconds", outcome{"rate_limited", none, 12 * time.Second, 429, "", "Deere limits requests at the moment."}},
		"limited, negative":                      {"POST", srv.URL + "/negative", outcome{"rate_limited", none, 0, 429, "", "Deere limits requests at the moment."}},
		"limited, a year":                        {"POST", srv.URL + "/year", outcome{"rate_limited", none, recourse.MaxWait, 429, "", "Deere limits requests at the moment."}},
		"limited, in the past":                   {"POST", srv.URL + "/past", outcome{"rate_limited", none, 0, 429, "", "Deere limits requests at the moment."}},
		"limited, reset":                         {"GET", srv.URL + "/reset", outcome{"rate_limited", none, 30 * time.Second, 429, "", "Deere limits requests at the moment."}},
		"no server":                              {"POST", nobody + "/ok", outcome{"unreachable", none, 0, 0, "", "Deere could not be reached."}},
		"no answer to a read":                    {"GET", srv.URL + "/hang", outcome{"timeout", none, 0, 0, "", "Deere did not answer in time."}},
		"no answer to a write":                   {"POST", srv.URL + "/hang", outcome{"timeout", unknown, 0, 0, "", "Deere did not answer in time."}},
		"a reset connection":                     {"POST", srv.URL + "/reset-connection", outcome{"unreachable", unknown, 0, 0, "", "Deere could not be reached."}},
		"a broken body":                          {"GET", srv.URL + "/cut", outcome{"unreachable", none, 0, 0, "", "Deere could not be reached."}},
		"a broken body after a write":            {"POST", srv.URL + "/cut", outcome{"unreachable", unknown, 0, 0, "", "Deere could not be reached."}},
	}
	client := &http.Client{Transport: mcptool.Transport(&http.Transport{DisableKeepAlives: true}, "Deere",
		mcptool.WithErrorCode("/problem/code", map[string]recourse.Kind{"LIMIT": recourse.KindLimitReached}),
		mcptool.WithFailure("/ok", false),
		mcptool.WithMediaType("application/json"),
	)}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute
			if strings.HasSuffix(test.url, "/hang") {
				patience = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			text, err := fetch(ctx, client, test.method, test.url)
			if test.want.Kind == "" {
				if err != nil || !strings.Contains(test.url, "none") && text != `{"ok":true,"name":"North"}` {
					t.Fatalf("got %q, %v", text, err)
				}
				return
			}
			e := new(recourse.Error)
			if !errors.As(err, &e) {
				t.Fatalf("got %q, %v", text, err)
			}
			got := outcome{e.Kind, e.Effect, e.RetryAfter.Round(time.Second), e.Upstream.Status, e.Upstream.Code, e.Sentence()}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\ncause: %v", diff, e.Cause())
			}
			if e.Origin != recourse.OriginProvider || e.Provider != "Deere" && test.want.Kind != "limit_reached" || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("origin %s, provider %q: %v", e.Origin, e.Provider, err)
			}
		})
	}
	t.Run("a date", func(t *testing.T) {
		t.Parallel()
		_, err := fetch(t.Context(), client, "GET", srv.URL+"/date")
		if e := recourse.From(err); e.Kind != recourse.KindUnavailable || e.RetryAfter < 59*time.Minute || e.RetryAfter > 61*time.Minute {
			t.Errorf("%v after %v", e, e.RetryAfter)
		}
	})
}

func fetch(ctx context.Context, client *http.Client, method, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// What a contract says about its provider's errors takes precedence over the status.
func TestTransportByContract(t *testing.T) {
	t.Parallel()

	const body = `{"error_code":"usage_limit_reached","message":"Too many studies.","suggestions":["Delete one."]}`
	for status, told := range map[int]int{403: 403, 200: 0} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(srv.Close)
		client := &http.Client{Transport: mcptool.Transport(&http.Transport{DisableKeepAlives: true}, "The backend",
			mcptool.WithUpstream(builtin(t, "studies")), mcptool.WithFailure("/error_code"))}
		_, err := fetch(t.Context(), client, "POST", srv.URL)
		e := recourse.From(err)
		if e.Kind != recourse.KindLimitReached || e.Message != "Too many studies." || e.Upstream.Status != told || e.Effect != recourse.EffectNone {
			t.Errorf("HTTP %d: %v, upstream %+v, effect %s", status, e, e.Upstream, e.Effect)
		}
		if diff := cmp.Diff([]string{"Delete one."}, e.Hints); diff != "" {
			t.Error(diff)
		}
	}
}

// If a tool has written something before it failed, the failure does not claim that nothing changed.
func TestTransportInTool(t *testing.T) {
	t.Parallel()

	srv := backend(t)
	client := &http.Client{Transport: mcptool.Transport(&http.Transport{DisableKeepAlives: true}, "Deere")}
	server := newServer()
	add := func(name string, reads bool, requests ...string) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
			func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				for _, r := range requests {
					method, path, _ := strings.Cut(r, " ")
					if _, err := fetch(ctx, client, method, srv.URL+path); err != nil {
						return nil, nil, fmt.Errorf("%s: %w", r, err)
					}
				}
				return nil, nil, nil
			})
	}
	add("write_then_read", false, "POST /ok", "GET /404")
	add("read_then_read", false, "GET /ok", "GET /404")
	add("search_by_post", true, "POST /ok", "GET /404")
	var log journal
	mcptool.Use(server, builtin(t, "fieldmcp"), mcptool.WithTool("write_then_read", mcptool.WithNature(retry.Writes)),
		mcptool.WithTool("read_then_read", mcptool.WithNature(retry.Writes)), mcptool.WithLogger(log.logger()))
	caller := dialStdio(t, server)
	for tool, want := range map[string]recourse.Effect{
		"write_then_read": recourse.EffectUnknown, "read_then_read": recourse.EffectNone, "search_by_post": recourse.EffectNone,
	} {
		e := caller.call(t, tool, `{}`).record(t)
		if e.Kind != recourse.KindNotFound || e.Effect != want || e.Origin != recourse.OriginProvider || e.Code != "RESOURCE_NOT_FOUND" {
			t.Errorf("%s: %v (%s), effect %s, origin %s", tool, e, e.Code, e.Effect, e.Origin)
		}
	}
	if !strings.Contains(log.String(), "HTTP 404") {
		t.Errorf("no cause in the log:\n%s", log.String())
	}
}
