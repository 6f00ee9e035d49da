package cli_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

var asCurl = regexp.MustCompile(`(?s)<pre[^>]*>(curl .*?)</pre>`)

// The curl command in the console repeats the call for every form of access control: on a free port, with the caller's
// headers, the headers that repeat arguments, and characters that a shell would interpret.
func TestCallsAgainWithCurl(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	tool := testkit.Tool{Name: "query", Definition: `{"name":"query","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"text":{"type":"string"}}}}`}
	srv, key := testkit.NewServer(t, testkit.WithTools(tool)), testkit.NewSigningKey(t, "k1", "ES256")
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[%s]}`, key.Public())
	}))
	t.Cleanup(issuer.Close)
	hash := auth.HashOf("key of ada").String()
	admin, log := served(t, fmt.Sprintf(`store: sqlite:%s
console: true
access:
  team: {keys: [{name: ada, hash: '%[2]s'}]}
  shop: {headers: {id: X-Client-Id, key: X-Client-Secret}, keys: [{name: ada, hash: '%[2]s'}]}
  desk: {headers: {key: X-Api-Key}, keys: [{name: ada, hash: '%[2]s'}]}
  staff: {jwt: {issuer: '%[3]s', jwks: '%[3]s/keys', audience: [farm]}}
servers:
  open: {url: '%[4]s'}
  keys: {url: '%[4]s', access: [team]}
  pair: {url: '%[4]s', access: [shop]}
  bare: {url: '%[4]s', access: [desk]}
  tokens: {url: '%[4]s', access: [staff]}
  here: {url: '%[4]s', access: [team, loopback]}
  users: {url: '%[4]s', path: "/{user}/users"}
`, filepath.Join(t.TempDir(), "recourse.db"), hash, issuer.URL, srv.URL()))
	claims := fmt.Sprintf(`{"iss":%q,"sub":"ann","aud":"farm","exp":%d}`, issuer.URL, time.Now().Add(time.Hour).Unix())
	token := key.Sign(t, map[string]any{"alg": "ES256", "kid": "k1", "typ": "at+jwt"}, []byte(claims))
	at, _ := log.await(t, 0, `"url":"`)
	base, _, _ := strings.Cut(strings.TrimPrefix(at, "http://"), "/")
	const arguments = `{"region":"eu 'x' $HOME","text":"it's \"$(touch hacked)\" \\"}`
	for path, header := range map[string]http.Header{
		"/open/mcp":   {},
		"/keys/mcp":   {"Authorization": {"Bearer key of ada"}},
		"/pair/mcp":   {"X-Client-Id": {"ada"}, "X-Client-Secret": {"key of ada"}},
		"/bare/mcp":   {"X-Api-Key": {"key of ada"}},
		"/tokens/mcp": {"Authorization": {"Bearer " + token}},
		"/here/mcp":   {},
		"/ann/users":  {},
	} {
		client := testkit.NewClient(t, "http://"+base+path, testkit.Modern)
		client.Header = header
		client.Header.Set("Mcp-Param-Region", "eu 'x' $HOME")
		srv.Next("query", faults.ToolError("", "it has failed"))
		a, err := client.Call(t.Context(), "query", arguments)
		if err != nil {
			t.Fatal(err)
		}
		id := a.Header.Get("X-Request-Id")
		command := commandIn(t, admin+"/calls/"+url.PathEscape(id))
		before := len(srv.Calls("query"))
		dir := t.TempDir()
		sh := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "curl", program+" -sS", 1))
		sh.Dir, sh.Env = dir, append(os.Environ(), "RECOURSE_KEY=key of ada", "RECOURSE_TOKEN="+token)
		out, err := sh.CombinedOutput()
		calls := srv.Calls("query")
		if err != nil || !strings.Contains(string(out), `"resultType":"complete"`) || len(calls) != before+1 {
			t.Errorf("%s: %v\n%s\n%s", path, err, command, out)
			continue
		}
		if was, is := argumentsOf(t, calls[before-1].Body), argumentsOf(t, calls[before].Body); was != is {
			t.Errorf("%s: got arguments %s, want %s", path, is, was)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 || strings.Contains(command, "key of ada") || strings.Contains(command, token) {
			t.Errorf("%s: the command makes another call, or shows a key:\n%s", path, command)
		}
	}
}

// commandIn returns the command on a call's page, which appears a moment after the call.
func commandIn(t *testing.T, page string) string {
	t.Helper()
	_, text := shownAt(t, page, func(_ int, text string) bool { return asCurl.MatchString(text) })
	return html.UnescapeString(asCurl.FindStringSubmatch(text)[1])
}

// argumentsOf returns the arguments in a tools/call message.
func argumentsOf(t *testing.T, message []byte) string {
	t.Helper()
	var call struct {
		Params struct {
			Arguments map[string]any `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(message, &call); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(call.Params.Arguments)
}
