package access_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A userWay is a way from a client to a server whose path names the user.
type userWay struct {
	name   string
	serves testkit.Era
	path   string // of the endpoint at which clients call, with a place for the user
	// more is what an endpoint of several servers needs besides its server, whose entry has no path of its own then.
	more string
}

var userWays = []userWay{
	{name: "a server of the legacy era", serves: testkit.Legacy, path: "/farm/{user_id}/mcp"},
	{name: "a server of the modern era", serves: testkit.Modern, path: "/farm/{user_id}/mcp"},
	{name: "several servers, this one legacy", serves: testkit.Legacy, path: "/all/{user_id}", more: "endpoints: {all: {path: '/all/{user_id}', servers: [farm], lists: none}}"},
	{name: "several servers, this one modern", serves: testkit.Modern, path: "/all/{user_id}", more: "endpoints: {all: {path: '/all/{user_id}', servers: [farm], lists: none}}"},
}

// serve starts a gateway on the way to a server, whose entry has these lines, and returns the URL of the endpoint.
func (w *userWay) serve(t *testing.T, lines ...string) (url string, srv *testkit.Server) {
	t.Helper()
	srv = testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(w.serves))
	entry := append([]string{"path: '" + w.path + "'"}, lines...)
	if w.more != "" {
		entry[0] = "path: none"
	}
	text := strings.ReplaceAll(strings.Join(entry, "\n    "), "SERVER", strings.TrimSuffix(srv.URL(), "/mcp"))
	g, _ := gatewaytest.New(t, w.more+"\nservers:\n  farm:\n    "+text+"\n")
	return gatewaytest.Open(t, g, true) + w.path, srv
}

// The user of the path stands wherever the entry has a place for the user, in every request to the server, whichever way it takes.
func TestUserInURL(t *testing.T) {
	t.Parallel()
	for _, way := range userWays {
		for _, era := range testkit.Eras {
			t.Run(fmt.Sprintf("%s, from %s", way.name, era), func(t *testing.T) {
				t.Parallel()
				url, srv := way.serve(t, "url: 'SERVER/v2/{user_id}/mcp?of={user_id}'", "headers: {X-Of: 'user {user_id}', X-Key: key}")
				for _, user := range []string{"u-1", "a|b@c.example", "+=:~", "u-1"} {
					c := testkit.NewClient(t, strings.ReplaceAll(url, "{user_id}", user), era)
					if a := echoed(t, c); !wasCalled(a) {
						t.Fatalf("%s: got HTTP %d %s", user, a.Status, a.Body)
					}
				}
				paths, said := map[string]bool{}, map[string]bool{}
				for _, r := range srv.Requests() {
					paths[r.Path], said[strings.Join(r.Header.Values("X-Of"), ",")] = true, true
					if r.Header.Get("Recourse-User") != "" || r.Header.Get("X-Key") != "key" {
						t.Errorf("got headers %v", r.Header)
					}
				}
				want := map[string]bool{
					"/v2/u-1/mcp?of=u-1": true, "/v2/a%7Cb@c.example/mcp?of=a%7Cb%40c.example": true, "/v2/+=:~/mcp?of=%2B%3D%3A~": true,
				}
				if fmt.Sprint(paths) != fmt.Sprint(want) || fmt.Sprint(said) != "map[user +=:~:true user a|b@c.example:true user u-1:true]" {
					t.Errorf("got paths %v, headers %v", paths, said)
				}
			})
		}
	}
}

// hostileUsers are what a path may hold in the place of the user that no user is.
var hostileUsers = []string{
	"", "..", "%2e%2e", ".", "..%2fu-2", "..%5Cu-2", "u-1%2F..%2Fu-2", "u-1/../u-2", "u-1%2fadmin", "%C3%BC-1", "ü", "u%00", "u-1%0D%0AX-Of:%20u-2", "u%0a",
	"%7Buser_id%7D", "u-1?x", "u-1%3Fof=u-2", "u-1%23", "u-1%26of=u-2", "%20", "u%20", "%", "%zz", strings.Repeat("u", 129), "u-1;v", "*", "%e2%80%ae1",
}

// A user who is no valid one reaches nobody, on any way.
func TestHostileUsers(t *testing.T) {
	t.Parallel()
	for _, way := range userWays {
		for _, mode := range []string{"enforce", "observe"} {
			if mode == "observe" && way.more != "" {
				continue
			}
			url, srv := way.serve(t, "url: 'SERVER/v2/{user_id}/mcp'", "headers: {X-Of: '{user_id}'}", "mode: "+mode)
			for _, user := range hostileUsers {
				for _, era := range testkit.Eras {
					statusOf := rawStatus(t, strings.ReplaceAll(url, "{user_id}", user), era)
					if statusOf != http.StatusNotFound && statusOf != http.StatusBadRequest && !strings.HasPrefix(user, "u-1?") {
						t.Errorf("%s, %s, %q: got HTTP %d", way.name, mode, user, statusOf)
					}
				}
			}
			for _, r := range srv.Requests() {
				if !strings.HasPrefix(r.Path, "/v2/u-1/mcp") {
					t.Errorf("%s, %s: the server got %s %v", way.name, mode, r.Path, r.Header["X-Of"])
				}
			}
		}
	}
}

// rawStatus returns the status of a request whose target is sent as it is written.
func rawStatus(t *testing.T, url string, era testkit.Era) int {
	t.Helper()
	rest := strings.TrimPrefix(url, "http://")
	host, target, _ := strings.Cut(rest, "/")
	conn, err := testkit.Dial(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body, more := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, ""
	if era == testkit.Modern {
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}`
		more = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"
	}
	fmt.Fprintf(conn, "POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Connection: close\r\n%sContent-Length: %d\r\n\r\n%s", target, host, more, len(body), body)
	answer, _ := io.ReadAll(conn)
	code := 0
	_, _ = fmt.Sscanf(string(answer), "HTTP/1.1 %d", &code)
	return code
}

// keys returns the credentials that the contract terra asks for.
func keys() http.Header {
	return http.Header{"Dev-Id": {"dev-1"}, "X-Api-Key": {"key-1"}}
}

// An API gets the user in its base URL, its headers and its query, and in the header that the contract names.
func TestUserOfAPI(t *testing.T) {
	t.Parallel()
	p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) { testkit.WriteJSON(w, http.StatusOK, `{}`) })
	file := filepath.Join(t.TempDir(), "api.yaml")
	if err := os.WriteFile(file, []byte(gatewaytest.Orders), 0o600); err != nil {
		t.Fatal(err)
	}
	g, _ := gatewaytest.New(t, fmt.Sprintf("servers:\n  farm:\n    openapi: %q\n    base_url: '%s/of/{user_id}'\n    path: '/farm/{user_id}'\n    contract: terra\n"+
		"    headers: {X-Of: '{user_id}'}\n    query: {of: '{user_id}'}\n    operations: [{}]\n", file, p.URL))
	root := gatewaytest.Open(t, g, true) + "/farm/"
	for _, era := range testkit.Eras {
		for _, user := range []string{"u-1", "a@b"} {
			c := testkit.NewClient(t, root+user, era)
			c.Header = keys()
			c.Header.Set("Provider-User-Id", "somebody-else")
			if era == testkit.Legacy {
				if _, err := c.Initialize(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Call(t.Context(), "orders_get", `{"id":"{user_id}"}`); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := "GET /of/u-1/orders/%7Buser_id%7D?of=u-1\nGET /of/a@b/orders/%7Buser_id%7D?of=a%40b\n"
	if got := strings.Join(p.Requests(), "\n") + "\n"; got != want+want {
		t.Errorf("got %s", got)
	}
	for _, r := range p.Sent {
		if of := r.Header.Get("X-Of"); of == "" || r.Header.Get("Provider-User-Id") != of || !strings.Contains(r.RequestURI, "/of/"+of+"/") {
			t.Errorf("got %s with headers %v", r.RequestURI, r.Header)
		}
	}
}

// usersDoor is a gateway whose callers may be some users only. way is "server", or "endpoint" for one that offers the server.
func usersDoor(t *testing.T, top, access, users, contractName, way string) (*door, string) {
	t.Helper()
	srv := testkit.NewServer(t, testkit.InMemory())
	rule := "access: " + access + "\n    users: " + users
	text := fmt.Sprintf("%s\nservers:\n  farm:\n    url: '%s'\n    contract: %s\n    %s\n    path: '/farm/{user_id}/mcp'\n",
		top, srv.URL(), contractName, rule)
	path := "/farm/"
	if way == "endpoint" {
		text += fmt.Sprintf("endpoints:\n  all:\n    servers: [farm]\n    lists: none\n    contract: %s\n    path: '/all/{user_id}/mcp'\n    %s\n", contractName, rule)
		path = "/all/"
	}
	g, log := gatewaytest.New(t, text)
	root := gatewaytest.Open(t, g, true)
	return &door{&gatewaytest.Front{Log: log, URL: root}, srv}, root + path
}

// statusAs returns the status and the record's message of a call as a user.
func (d *door) statusAs(t *testing.T, root, user string, era testkit.Era, header ...string) (int, string) {
	t.Helper()
	c := testkit.NewClient(t, root+user+"/mcp", era)
	c.Header = http.Header{}
	for i := 0; i < len(header); i += 2 {
		c.Header.Add(header[i], header[i+1])
	}
	a := echoed(t, c)
	if a.Status == http.StatusOK && !wasCalled(a) {
		t.Fatalf("got %s", a.Body)
	}
	return a.Status, string(a.Body)
}

// A token says whom its caller may be.
func TestUsersByClaim(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"server", "endpoint"} {
		synctest.Test(t, func(t *testing.T) {
			issuer := testkit.NewIssuer(t)
			top := "access:\n  staff: {jwt: {issuer: '" + issuer.URL + "', audience: [farm]}}\n  team: {keys: [" + keyEntry("good key") + "]}"
			d, root := usersDoor(t, top, "[staff, team]", "{claim: /health/users}", "recourse", way)
			claim := func(users any) string {
				return "Bearer " + issuer.Token(t, map[string]any{"health": map[string]any{"users": users}})
			}
			for name, test := range map[string]struct {
				credential, user string
				may              bool
			}{
				"one":                {claim("u-1"), "u-1", true},
				"another":            {claim("u-1"), "u-2", false},
				"another case":       {claim("u-1"), "U-1", false},
				"one of several":     {claim([]string{"u-1", "u-2"}), "u-2", true},
				"none of several":    {claim([]string{"u-1", "u-2"}), "u-3", false},
				"a number":           {claim(17), "17", true},
				"no claim":           {"Bearer " + issuer.Token(t, nil), "u-1", false},
				"no list of texts":   {claim([]any{"u-1", 2}), "u-1", false},
				"a mapping":          {claim(map[string]any{"u-1": true}), "u-1", false},
				"no pattern":         {claim("*"), "u-1", false},
				"nobody":             {claim(""), "u-1", false},
				"a key has no claim": {"Bearer good key", "u-1", false},
			} {
				for _, era := range testkit.Eras {
					status, body := d.statusAs(t, root, test.user, era, "Authorization", test.credential)
					if want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[test.may]; status != want {
						t.Errorf("%s, %s, %s: got HTTP %d %s", way, name, era, status, body)
					}
				}
			}
		})
	}
}

// A file says whom callers may be, and terra's answer for others is the guaranteed one.
func TestUsersByFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(file, []byte("team/ann: [u-1, 'org7:*']\nteam/bob: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	top := "access:\n  team: {headers: {id: dev-id, key: x-api-key}, keys: [" + keyEntry("good key") + ", {name: bob, hash: '" + auth.HashOf("bob's key").String() + "'}]}"
	for _, way := range []string{"server", "endpoint"} {
		d, root := usersDoor(t, top, "[team]", "{file: '"+file+"'}", "terra", way)
		for _, test := range []struct {
			caller, key, user string
			may               bool
		}{
			{"ann", "good key", "u-1", true},
			{"ann", "good key", "org7:x", true},
			{"ann", "good key", "org7x", false},
			{"ann", "good key", "u-2", false},
			{"bob", "bob's key", "u-1", false},
		} {
			for _, era := range testkit.Eras {
				status, body := d.statusAs(t, root, test.user, era, "Dev-Id", test.caller, "X-Api-Key", test.key)
				switch {
				case test.may && status != http.StatusOK,
					!test.may && (status != http.StatusNotFound || !strings.Contains(body, `"title":"not found"`) || !strings.Contains(body, `"detail":"invalid user id"`)):
					t.Errorf("%s, %+v, %s: got HTTP %d %s", way, test, era, status, body)
				}
			}
		}
	}
}

// A checker is a service that says whom callers may be.
type checker struct {
	url string

	mu     sync.Mutex
	asked  []string
	answer func(w http.ResponseWriter, r *http.Request)
}

func startChecker(t *testing.T) *checker {
	t.Helper()
	c := &checker{}
	c.url = testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.asked = append(c.asked, r.Method+" "+r.Header.Get("Authorization")+" "+string(body))
		answer := c.answer
		c.mu.Unlock()
		answer(w, r)
	}))
	return c
}

func (c *checker) says(answer func(w http.ResponseWriter, r *http.Request)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer, c.asked = answer, nil
}

func status(code int) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// breaks ends the connection after a part of an answer.
func breaks(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "99")
	_, _ = io.WriteString(w, `{"allowed":`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler) // makes net/http close the connection
}

// requests returns what was asked since the last says.
func (c *checker) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

func (c *checker) times() int { return len(c.requests()) }

// A check says whom callers may be; only a clear answer means yes or no, and what is not known lets nobody in.
func TestUsersByCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		check := startChecker(t)
		d, root := usersDoor(t, "access: {team: {keys: ["+keyEntry("good key", "org: acme", "roles: [reader]")+"]}}", "[team]",
			"{check: '"+check.url+"/may', headers: {Authorization: check-secret}, timeout: 2s, keep: 1m, keep_refusals: 10s}", "recourse", "server")
		text := func(body string) func(w http.ResponseWriter, r *http.Request) {
			return func(w http.ResponseWriter, _ *http.Request) { testkit.WriteJSON(w, http.StatusOK, body) }
		}
		as := func(user string) (int, string) {
			return d.statusAs(t, root, user, testkit.Modern, "Authorization", "Bearer good key")
		}
		for i, test := range []struct {
			name   string
			answer func(w http.ResponseWriter, r *http.Request)
			want   int
		}{
			{"204", status(204), 200},
			{"allowed", text(`{"allowed": true}`), 200},
			{"not allowed", text(`{"allowed": false}`), 404},
			{"403", status(403), 404},
			{"404", status(404), 404},
			{"200 without a word", text(``), 503},
			{"200 with another word", text(`{"result": true}`), 503},
			{"allowed as a text", text(`{"allowed": "true"}`), 503},
			{"a page", text(`<html>Sign in</html>`), 503},
			{"401", status(401), 503},
			{"429", status(429), 503},
			{"500", status(500), 503},
			{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/yes", http.StatusFound) }, 503},
			{"an answer that breaks off", breaks, 503},
			{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 503},
		} {
			check.says(test.answer)
			user := fmt.Sprintf("u-%d", i)
			status, body := as(user)
			if status != test.want {
				t.Errorf("%s: got HTTP %d %s", test.name, status, body)
			}
			if status == 503 && !strings.Contains(body, "cannot be checked now") {
				t.Errorf("%s: got %s", test.name, body)
			}
			want := `POST check-secret {"user":"` + user + `","caller":{"access":"team","name":"ann","org":"acme","roles":["reader"]}}`
			if asked := check.requests(); !slices.Equal(asked, []string{want}) {
				t.Errorf("%s: asked %q", test.name, asked)
			}
		}
		if strings.Contains(d.Log.String(), "check-secret") {
			t.Error("the check's credential is in the log")
		}
	})
}

// A check is asked once for a caller and a user, and again when its answer is old: a refusal sooner, and a failure at once.
func TestUsersAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		check := startChecker(t)
		d, root := usersDoor(t, "access: {team: {keys: ["+keyEntry("good key")+"]}}", "[team]", "{check: '"+check.url+"'}", "recourse", "server")
		as := func(user string) int {
			status, _ := d.statusAs(t, root, user, testkit.Modern, "Authorization", "Bearer good key")
			return status
		}
		expect := func(user string, status, asked int) {
			t.Helper()
			if got := as(user); got != status || check.times() != asked {
				t.Errorf("%s: got HTTP %d, asked %d times; want %d, %d", user, got, check.times(), status, asked)
			}
		}
		check.says(status(204))
		expect("u-1", 200, 1)
		expect("u-1", 200, 1)
		expect("u-2", 200, 2)
		time.Sleep(61 * time.Second)
		expect("u-1", 200, 3)
		check.says(status(403))
		expect("u-1", 200, 0) // it is still kept
		expect("u-3", 404, 1)
		expect("u-3", 404, 1)
		time.Sleep(11 * time.Second)
		check.says(status(204))
		expect("u-3", 200, 1)
		check.says(status(500))
		expect("u-4", 503, 1)
		expect("u-4", 503, 2)
		check.says(status(204))
		expect("u-4", 200, 1)
		time.Sleep(61 * time.Second)
		check.says(status(500)) // an old answer does not stand in for one that fails
		expect("u-4", 503, 1)

		// Many at once share one check.
		release := make(chan struct{})
		check.says(func(w http.ResponseWriter, _ *http.Request) { <-release; w.WriteHeader(http.StatusNoContent) })
		var work sync.WaitGroup
		for range 20 {
			work.Go(func() {
				if got := as("u-5"); got != 200 {
					t.Errorf("got HTTP %d", got)
				}
			})
		}
		synctest.Wait()
		close(release)
		work.Wait()
		if check.times() != 1 {
			t.Errorf("asked %d times", check.times())
		}
	})
}

// A stream ends when its caller may no longer be the user, and not because the check does not answer.
func TestUsersAreCheckedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		check := startChecker(t)
		_, root := usersDoor(t, "access: {team: {keys: ["+keyEntry("good key")+"]}}", "[team]", "{check: '"+check.url+"', keep: 5s}", "recourse", "server")
		check.says(status(204))
		c := testkit.NewClient(t, root+"u-1/mcp", testkit.Modern)
		c.Header = http.Header{"Authorization": {"Bearer good key"}}
		ended := make(chan *testkit.Answer, 1)
		go func() {
			a, _ := c.Call(t.Context(), testkit.Progress, `{"count":20,"gapMs":20000}`)
			ended <- a
		}()
		time.Sleep(14 * time.Second) // it is checked every 10
		check.says(status(500))
		time.Sleep(14 * time.Second)
		select {
		case a := <-ended:
			t.Fatalf("the call ended: %s", a.Body)
		default:
		}
		check.says(status(403))
		time.Sleep(5 * time.Second)
		select {
		case a := <-ended:
			if text := string(a.Body); !strings.Contains(text, "not one that you may be") || !strings.Contains(text, `"effectBasis":"stated"`) {
				t.Errorf("got HTTP %d %s", a.Status, text)
			}
		default:
			t.Error("the call goes on")
		}
	})
}
