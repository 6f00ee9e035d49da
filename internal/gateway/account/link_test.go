package account_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// An operator's link leads to the page of the account. An unknown account has no link.
func TestConnectLink(t *testing.T) {
	t.Parallel()
	f := startWithAccounts(t, testkit.NewServer(t), "authorization_code", "public_url: https://tools.example.com")
	g := f.gateway
	for _, provider := range []string{"deere", "made-up"} {
		if _, err := g.ConnectLink(t.Context(), provider, connection.AnybodyOwner); !errors.Is(err, store.ErrConflict) {
			t.Errorf("without an account at %s: got %v", provider, err)
		}
	}
	f.connect(t)
	link, err := g.ConnectLink(t.Context(), "deere", connection.AnybodyOwner)
	if err != nil || !strings.HasPrefix(link, "https://tools.example.com/connect/") {
		t.Errorf("got %s, %v", link, err)
	}
}

// A caller with a pair of headers must enter both of its own to connect.
func TestConnectWithHeaderPair(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := startWithAccounts(t, srv, "api_key", "access: {shop: {headers: {id: X-Client-Id, key: X-Client-Secret}, keys: [{name: ada, hash: '"+
		auth.HashOf("key of ada").String()+"'}, {name: eve, hash: '"+auth.HashOf("key of eve").String()+"'}]}}", "access: [shop]")
	client := testkit.NewClient(t, f.url+"/farm/mcp", testkit.Modern)
	client.Header = http.Header{"X-Client-Id": {"ada"}, "X-Client-Secret": {"key of ada"}}
	a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	link := f.linkIn(t, a.Result(t).Text())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	for _, step := range []struct {
		fields url.Values
		want   string
	}{
		{url.Values{"step": {"enter"}, "key": {"key of ada"}}, "not the key of the caller"},
		{url.Values{"step": {"enter"}, "id": {"eve"}, "key": {"key of ada"}}, "not the key of the caller"},
		{url.Values{"step": {"enter"}, "id": {"eve"}, "key": {"key of eve"}}, "not the key of the caller"},
		{url.Values{"api_key": {"account-of-eve"}}, `<label for="id">X-Client-Id</label>`},
		{url.Values{"step": {"enter"}, "id": {"ada"}, "key": {"key of ada"}}, "API key of John Deere"},
		{url.Values{"api_key": {"account-of-ada"}}, "John Deere is connected"},
	} {
		resp, err := browser.PostForm(link, step.fields)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(text), step.want) || strings.Contains(string(text), "key of ada") {
			t.Errorf("%v: got %s, %v", step.fields, text, err)
		}
	}
	client.MustEcho(t)
	if got := srv.Calls(testkit.Echo)[0].Header.Get("Authorization"); got != "Bearer account-of-ada" {
		t.Errorf("the server got %q", got)
	}
}

// The gateway takes its own URL from public_url, or else from the address where it listens, if a browser can open that.
func TestOwnURL(t *testing.T) {
	t.Parallel()
	const server = "\nservers: {farm: {url: 'http://127.0.0.1:1'}}"
	for more, want := range map[string]string{
		"public_url: https://tools.example.com/": "https://tools.example.com",
		"listen: 127.0.0.1:8790":                 "http://127.0.0.1:8790",
		"listen: ':8791'":                        "http://127.0.0.1:8791",
		"listen: '[::]:8792'":                    "http://127.0.0.1:8792",
		"listen: 127.0.0.1:0":                    "",
	} {
		g, _ := gatewaytest.New(t, more+server)
		if want == "" {
			ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			want = "http://" + ln.Addr().String()
			ctx, stop := context.WithCancel(t.Context())
			var serving sync.WaitGroup
			serving.Go(func() { _ = g.Serve(ctx, ln, time.Second) })
			resp, err := http.Get(want + "/farm/mcp")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			t.Cleanup(func() { stop(); serving.Wait() })
		}
		if got := g.URL(); got != want {
			t.Errorf("%s: got %s, want %s", more, got, want)
		}
	}
}
