package account_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const showsLinks = `{"elicitation":{"url":{}}}`

// linkClient returns a client that can show links.
func (f *accountFront) linkClient(t *testing.T, era testkit.Era) *testkit.Client {
	t.Helper()
	client := testkit.NewClient(t, f.url+"/farm/mcp", era)
	client.Capabilities = showsLinks
	if era == testkit.Legacy {
		if _, err := client.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return client
}

// enterKey connects the account under a link. It does not check the last page, since the test may have ended by then.
func enterKey(t *testing.T, link string) {
	t.Helper()
	browser := &http.Client{
		Transport:     &http.Transport{DialContext: testkit.Dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := browser.PostForm(link, url.Values{"api_key": {"deere-key-1"}})
	if err != nil {
		t.Error(err)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		t.Errorf("page: got HTTP %d", resp.StatusCode)
	}
}

// A shownLink is a request to show a link.
type shownLink struct {
	Mode          string `json:"mode"`
	ElicitationID string `json:"elicitationId"`
	URL           string `json:"url"`
	Message       string `json:"message"`
}

// shownLinks is the data of error -32042.
type shownLinks struct {
	Elicitations []shownLink     `json:"elicitations"`
	Record       *recourse.Error `json:"io.github.recoursehq/error"`
}

// A linkRequest is such a request in a result of the modern era.
type linkRequest struct {
	Params shownLink `json:"params"`
}

// shownIn returns the request in an answer to show a link.
func (f *accountFront) shownIn(t *testing.T, a *testkit.Answer) shownLink {
	t.Helper()
	var answer struct {
		Error struct {
			Code    int        `json:"code"`
			Message string     `json:"message"`
			Data    shownLinks `json:"data"`
		} `json:"error"`
		Result struct {
			ResultType string                     `json:"resultType"`
			Requests   map[string]linkRequest     `json:"inputRequests"`
			Meta       map[string]*recourse.Error `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		t.Fatalf("got HTTP %d %s: %v", a.Status, a.Body, err)
	}
	shown := answer.Result.Requests["io.github.recoursehq/connect"].Params
	record := answer.Result.Meta[recourse.MetaKey]
	if data := answer.Error.Data; len(data.Elicitations) == 1 {
		shown, record = data.Elicitations[0], data.Record
		if answer.Error.Code != -32042 || shown.ElicitationID == "" || strings.Contains(shown.URL, shown.ElicitationID) || !strings.Contains(answer.Error.Message, shown.URL) {
			t.Errorf("got %s", a.Body)
		}
	} else if answer.Result.ResultType != "input_required" || shown.ElicitationID != "" {
		t.Errorf("got %s", a.Body)
	}
	if shown.Mode != "url" || !strings.HasPrefix(shown.URL, f.url+"/connect/") || record == nil || record.Effect != recourse.EffectNone || strings.Contains(shown.Message, "http") {
		t.Fatalf("got HTTP %d %s", a.Status, a.Body)
	}
	return shown
}

// A client that can show links is asked to. In the legacy era it is notified when the account is connected; in the modern
// era its repeated call waits for that.
func TestClientShowsTheLink(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		for _, server := range testkit.Eras {
			t.Run(era.String()+" to "+server.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(server))
					f := startWithAccounts(t, srv, "api_key", "")
					client := f.linkClient(t, era)
					a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
					if err != nil {
						t.Fatal(err)
					}
					shown := f.shownIn(t, a)
					if shown.Message != "No John Deere account is connected." {
						t.Errorf("got message %q", shown.Message)
					}
					if era == testkit.Legacy {
						f.connectsWithNotice(t, client, shown)
					} else {
						f.connectsWhileWaiting(t, client, shown)
					}
					if calls := srv.Calls(testkit.Echo); len(calls) != 1 || calls[0].Header.Get("Authorization") != "Bearer deere-key-1" {
						t.Errorf("got calls %+v", calls)
					}
					if log := f.log.String(); strings.Contains(log, shown.URL) || !strings.Contains(log, "not_connected") {
						t.Errorf("got log %s", log)
					}
				})
			})
		}
	}
}

func (f *accountFront) connectsWithNotice(t *testing.T, client *testkit.Client, shown shownLink) {
	t.Helper()
	stream, err := client.Listen(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	again, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	if other := f.shownIn(t, again); other != shown {
		t.Errorf("second call: got another link %+v", other)
	}
	enterKey(t, shown.URL)
	want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":%q}}`, shown.ElicitationID)
	event, err := stream.Next()
	if err != nil || event.Data != want {
		t.Fatalf("stream: got %s, %v", event.Data, err)
	}
	client.MustEcho(t)
}

func (f *accountFront) connectsWhileWaiting(t *testing.T, client *testkit.Client, shown shownLink) {
	t.Helper()
	decline, err := client.Request(t.Context(), "tools/call", answerOf("decline", ""))
	if err != nil {
		t.Fatal(err)
	}
	if text := decline.Result(t).Text(); !strings.HasPrefix(text, "[not_connected] ") || !strings.Contains(text, shown.URL) {
		t.Errorf("after the person declined: got %s", text)
	}
	type end struct {
		a   *testkit.Answer
		err error
	}
	ended := make(chan end, 1)
	go func() {
		a, err := client.Request(t.Context(), "tools/call", answerOf("accept", "io.github.recoursehq/connect 0"))
		ended <- end{a, err}
	}()
	time.Sleep(20 * time.Second)
	select {
	case e := <-ended:
		t.Fatalf("the call did not wait: got %+v", e)
	default:
	}
	enterKey(t, shown.URL)
	if e := <-ended; e.err != nil || !strings.Contains(string(e.a.Body), `"m"`) {
		t.Errorf("got %+v", e)
	}
}

// answerOf returns the params of the repeated call.
func answerOf(action, state string) string {
	params := `{"name":"` + testkit.Echo + `","arguments":{"message":"m"},"inputResponses":{"io.github.recoursehq/connect":{"action":"` + action + `"}}`
	if state != "" {
		params += `,"requestState":"` + state + `"`
	}
	return params + "}"
}

// A slow person gets the same link again. Invalid states in the client's answer do no harm.
func TestLinkIsShownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(testkit.Modern))
		f := startWithAccounts(t, srv, "api_key", "")
		client := f.linkClient(t, testkit.Modern)
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		shown := f.shownIn(t, a)
		for _, state := range []string{
			"", "io.github.recoursehq/connect", "io.github.recoursehq/connect 0", "io.github.recoursehq/connect 9223372036854775808",
			"io.github.recoursehq/connect -1 " + strings.Repeat("scope ", 1000), "of another server",
		} {
			a, err := client.Request(t.Context(), "tools/call", answerOf("accept", state))
			if err != nil {
				t.Fatal(err)
			}
			if again := f.shownIn(t, a); again.URL != shown.URL {
				t.Errorf("with the state %.50q: got another link", state)
			}
		}
		if srv.Attempts(testkit.Echo) != 0 {
			t.Error("a call without an account reached the server")
		}
	})
}

// A link for more scopes is shown too, and the call waits for an account that has them.
func TestLinkForMoreScopes(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	f := startWithAccounts(t, srv, "authorization_code", "")
	f.connect(t)
	client := f.linkClient(t, testkit.Modern)
	srv.Next(testkit.Echo, faults.InsufficientScope())
	a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	f.shownIn(t, a)
	var answer struct {
		Result struct {
			State string                     `json:"requestState"`
			Meta  map[string]*recourse.Error `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		t.Fatal(err)
	}
	scopes := answer.Result.Meta[recourse.MetaKey].MissingScopes
	if len(scopes) == 0 || !strings.HasSuffix(answer.Result.State, strings.Join(scopes, " ")) {
		t.Fatalf("got %s", a.Body)
	}
	connected := make(chan error, 1)
	go func() {
		token := connection.Token{Access: "wider", Refresh: "r", Expires: time.Now().Add(time.Hour), Scopes: scopes}
		connected <- f.manager.Connect(t.Context(), f.provider, "anybody", "test", token)
	}()
	a, err = client.Request(t.Context(), "tools/call", answerOf("accept", answer.Result.State))
	if err != nil || !strings.Contains(string(a.Body), `"m"`) {
		t.Fatalf("got %s, %v", a.Body, err)
	}
	if err := <-connected; err != nil {
		t.Error(err)
	}
	if calls := srv.Calls(testkit.Echo); calls[len(calls)-1].Header.Get("Authorization") != "Bearer wider" {
		t.Errorf("got calls %+v", calls)
	}
}

// The client of the Go SDK shows the link, in both eras, at a server's own endpoint and at one with several servers.
func TestGoSDKShowsTheLink(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		for _, path := range []string{"/farm/mcp", "/all"} {
			t.Run(era.String()+" "+path, func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				f := startWithAccounts(t, srv, "api_key", "endpoints: {all: {path: /all, servers: [farm]}}")
				complete := make(chan string, 1)
				client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
					Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						go enterKey(t, r.Params.URL)
						return &mcp.ElicitResult{Action: "accept"}, nil
					},
					ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
						complete <- r.Params.ElicitationID
					},
				})
				opts := &mcp.ClientSessionOptions{ProtocolVersion: era.Version()}
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: f.url + path}, opts)
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				call := &mcp.CallToolParams{Name: testkit.Echo, Arguments: map[string]any{"message": "m"}}
				result, err := session.CallTool(t.Context(), call)
				if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code == mcp.CodeURLElicitationRequired {
					var data struct {
						Elicitations []*mcp.ElicitParams `json:"elicitations"`
					}
					if err := json.Unmarshal(refused.Data, &data); err != nil || len(data.Elicitations) != 1 {
						t.Fatalf("got %s, %v", refused.Data, err)
					}
					enterKey(t, data.Elicitations[0].URL)
					if id := <-complete; id != data.Elicitations[0].ElicitationID {
						t.Errorf("got %s complete", id)
					}
					result, err = session.CallTool(t.Context(), call)
				} else if era == testkit.Legacy && path == "/farm/mcp" {
					t.Errorf("the first call: got %v", err)
				}
				if err != nil || result.IsError {
					t.Fatalf("got %+v, %v", result, err)
				}
			})
		}
	}
}

// The client's answer about the link stays at the gateway; its answer to the server's own question reaches the server.
func TestLinkAnswerStays(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	f := startWithAccounts(t, srv, "authorization_code", "")
	f.connect(t)
	client := f.linkClient(t, testkit.Modern)
	for answers, want := range map[string]string{
		`{"io.github.recoursehq/connect":{"action":"accept"}}`:                           `"name":"echo","arguments":{"message":"m"}}}`,
		`{"io.github.recoursehq/connect":{"action":"accept"},"own":{"action":"accept"}}`: `"inputResponses":{"own":{"action":"accept"}},"requestState":"own"`,
	} {
		state := "io.github.recoursehq/connect 0"
		if strings.Contains(answers, "own") {
			state = "own"
		}
		params := `{"name":"echo","arguments":{"message":"m"},"inputResponses":` + answers + `,"requestState":"` + state + `"}`
		if _, err := client.Request(t.Context(), "tools/call", params); err != nil {
			t.Fatal(err)
		}
		calls := srv.Calls(testkit.Echo)
		if got := string(calls[len(calls)-1].Body); !strings.Contains(got, want) || strings.Contains(got, "hq/connect") {
			t.Errorf("the server got %s", got)
		}
	}
}
