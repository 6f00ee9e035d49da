//go:build unix

package cli_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// recipesKey is the API key whose hash the recipes have; docs/access.md shows it.
const recipesKey = "rk_aaaaaaaaaaaa_this2is2an2example2and2not2random2at2all2234567aaaa"

// replaced returns text with the replacements of pairs, each an old text and a new one. Each old text must occur.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("no %q in\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// keyed adds an API key to each request.
type keyed struct {
	to  http.RoundTripper
	key string
}

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if k.key != "" {
		r.Header.Set("Authorization", "Bearer "+k.key)
	}
	return k.to.RoundTrip(r)
}

// sdkClient connects the Go SDK's client to a server.
func sdkClient(t *testing.T, url, key string, trust *tls.Config) (*mcp.ClientSession, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: trust}
	t.Cleanup(transport.CloseIdleConnections)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: keyed{transport, key}}, DisableStandaloneSSE: true,
	}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// placeOrder calls a tool that writes, and an unknown tool.
func placeOrder(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	if got := call(t, session, testkit.OrderCreate, map[string]any{"reference": "A-1", "amount": 1}); !strings.Contains(got, "A-1") {
		t.Errorf("order: got %s", got)
	}
	if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"}); err == nil && !result.IsError {
		t.Errorf("unknown tool: got %+v", result)
	}
}

// inJournal waits until a call of an unknown tool is in the journal, and explains it.
func inJournal(t *testing.T, store string) {
	t.Helper()
	run := func(args ...string) (code int, said string) {
		var out testkit.Buffer
		code = cli.Run(t.Context(), cli.Environment{Args: append(args, "--store", store), Stdout: &out, Stderr: &out})
		return code, out.String()
	}
	id := ""
	testkit.Eventually(t, "the call is in the journal", func() bool {
		_, said := run("failures", "--kind", "unknown_tool")
		id = regexp.MustCompile(`req-\w+`).FindString(said)
		return id != ""
	})
	if code, said := run("explain", id); code != cli.ExitOK || !strings.Contains(said, "no_such_tool") {
		t.Errorf("explain: exit code %d: %s", code, said)
	}
}

// urlOf returns the gateway's URL from its log.
func urlOf(t *testing.T, log *output) string {
	t.Helper()
	url, _ := log.await(t, 0, `"url":"`)
	url, _, _ = strings.Cut(url, `"`)
	return strings.Replace(url, "[::]", "127.0.0.1", 1)
}

// The team recipe requires a key, uses TLS, and keeps a journal.
func TestRecipeForATeam(t *testing.T) {
	t.Parallel()
	dir, certificate := t.TempDir(), testkit.NewCertificate(t, -time.Hour, 1000*time.Hour)
	for name, text := range map[string][]byte{"gateway.pem": certificate.Cert, "gateway.key": certificate.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := "sqlite:" + filepath.Join(dir, "recourse.db")
	_, log := served(t, replaced(t, recipes(t)[0], "listen: 0.0.0.0:8443\n", "", "admin: 127.0.0.1:9464", "admin: 127.0.0.1:0",
		"sqlite:recourse.db", store, "cert: ", "cert: "+dir+"/", "key: gateway", "key: "+dir+"/gateway",
		"http://127.0.0.1:9101/mcp", testkit.NewServer(t).URL()))
	url := urlOf(t, log)
	if _, err := sdkClient(t, url, "", certificate.Client()); err == nil {
		t.Error("a client without a key was let in")
	}
	session, err := sdkClient(t, url, recipesKey, certificate.Client())
	if err != nil {
		t.Fatal(err)
	}
	placeOrder(t, session)
	inJournal(t, store)
}

// Two replicas of the fleet recipe share sessions, limits and the journal.
func TestRecipeForAFleet(t *testing.T) {
	t.Parallel()
	collector := httptest.NewServer(new(collected))
	t.Cleanup(collector.Close)
	database := service.Postgres(t)
	configuration := replaced(t, recipes(t)[1], "listen: 0.0.0.0:8787\n", "", "admin: 0.0.0.0:9464", "admin: 0.0.0.0:0",
		"shutdown_delay: 10s", "shutdown_delay: 10ms", "${SESSION_KEY}", strings.Repeat("session key ", 3),
		"postgres://recourse:${POSTGRES_PASSWORD}@db.internal/recourse", database, "redis://redis.internal:6379/0", service.Redis(t),
		"http://otel.internal:4318", collector.URL, "600/1m", "2/1m",
		"http://farm.internal:9101/mcp", testkit.NewServer(t).URL(), "http://search.internal:9101/mcp", testkit.NewServer(t).URL())
	_, first := served(t, configuration)
	session, err := sdkClient(t, urlOf(t, first), recipesKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	placeOrder(t, session)
	inJournal(t, database)
	admin, second := served(t, configuration)
	client := testkit.NewClient(t, urlOf(t, first), testkit.Legacy)
	client.Header = http.Header{"Authorization": {"Bearer " + recipesKey}}
	if a, err := client.Initialize(t.Context()); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%v %+v", err, a)
	}
	other := testkit.NewClient(t, urlOf(t, second), testkit.Legacy)
	other.Session, other.Header = client.Session, client.Header
	for _, want := range []bool{true, false} { // the second and the third call of the minute
		a, err := other.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil || a.Status != http.StatusOK || strings.Contains(string(a.Body), "rate_limited") == want {
			t.Errorf("%v, HTTP %d %s", err, a.Status, a.Body)
		}
	}
	if text := readyWhen(t, admin, http.StatusOK); text != "ready\n" {
		t.Error(text)
	}
}

// A host starts the desktop recipe instead of its server, and the journal has the failures.
func TestRecipeForADesktop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := programIn(t, dir)
	store := "sqlite:" + filepath.Join(dir, "recourse.db")
	file := filepath.Join(dir, "recourse.yaml")
	text := replaced(t, recipes(t)[2], "[recourse, ", "["+program+", ", "sqlite:recourse.db", store)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	host := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	wrapper := exec.CommandContext(context.Background(), program, "wrap", "-c", file)
	session, err := host.Connect(t.Context(), &mcp.CommandTransport{Command: wrapper}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, session, "deere_get_field", map[string]any{"fieldId": "FLD-101"}); !strings.Contains(got, "FLD-101") {
		t.Errorf("tool: got %s", got)
	}
	if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"}); err == nil && !result.IsError {
		t.Errorf("unknown tool: got %+v", result)
	}
	if err := session.Close(); err != nil {
		t.Errorf("wrapper: %v", err)
	}
	inJournal(t, store)
}

// programIn puts the program into a folder, and returns its path.
func programIn(t *testing.T, dir string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "recourse") // TestMain runs the command of this name
	if err := os.Symlink(exe, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// The gateway of compose.yaml starts like its image, with only the environment from the file.
func TestComposeRuns(t *testing.T) {
	t.Parallel()
	var c composition
	readDeployed(t, "compose.yaml", &c)
	gateway := c.Services["gateway"]
	image, err := os.ReadFile(inDeploy(gateway.Build.Context + "/" + gateway.Build.Dockerfile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"COPY --from=build /recourse /usr/bin/recourse\n", "ENV PATH=/usr/bin\n", "ENTRYPOINT [\"recourse\"]\n",
		"CMD [\"serve\", \"-c\", \"/etc/recourse/recourse.yaml\"]\n",
	} {
		if !strings.Contains(string(image), want) {
			t.Errorf("no %q in the Dockerfile", want)
		}
	}
	if len(gateway.Volumes) != 1 || gateway.Volumes[0] != "./recourse.yaml:/etc/recourse/recourse.yaml:ro" || gateway.Ports[0] != "127.0.0.1:8787:8787" {
		t.Fatalf("%q %q", gateway.Volumes, gateway.Ports)
	}
	text, err := os.ReadFile(inDeploy("recourse.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	user := c.Services["postgres"].Environment
	inside := fmt.Sprintf("postgres://%s:${POSTGRES_PASSWORD}@postgres/%s", user["POSTGRES_USER"], user["POSTGRES_DB"])
	if user["POSTGRES_PASSWORD"] != gateway.Environment["POSTGRES_PASSWORD"] {
		t.Error("the gateway and PostgreSQL have different passwords")
	}
	database := service.Postgres(t)
	redis := service.NewRedis(t, c.Services["redis"].Command[1:]...).URL
	root := t.TempDir()
	program, file := programIn(t, root), filepath.Join(root, "recourse.yaml")
	configuration := replaced(t, string(text), "listen: 0.0.0.0:8787", "listen: 0.0.0.0:0", "admin: 0.0.0.0:9464", "admin: 0.0.0.0:0",
		inside, database, "redis://redis:6379/0", redis)
	if err := os.WriteFile(file, []byte(configuration), 0o400); err != nil {
		t.Fatal(err)
	}
	log := new(output)
	process := exec.CommandContext(context.Background(), program, "serve", "-c", file)
	process.Dir, process.Stdout, process.Stderr = "/", log, log
	process.Env = []string{"PATH=" + root, "GORACE=atexit_sleep_ms=0"}
	for name, value := range gateway.Environment {
		process.Env = append(process.Env, name+"="+value)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer process.Process.Kill() //nolint:errcheck // already ended, unless the test failed
	admin, _ := log.await(t, 0, `"address":"`)
	admin, _, _ = strings.Cut(strings.Replace(admin, "[::]", "127.0.0.1", 1), `"`)
	session, err := sdkClient(t, urlOf(t, log), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, session, "deere_get_field", map[string]any{"fieldId": "FLD-101"}); !strings.Contains(got, "FLD-101") {
		t.Errorf("tool: got %s", got)
	}
	if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"}); err == nil && !result.IsError {
		t.Errorf("unknown tool: got %+v", result)
	}
	if text := readyWhen(t, admin, http.StatusOK); text != "ready\n" {
		t.Error(text)
	}
	inJournal(t, database)
	_ = session.Close()
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("the gateway ended with %v:\n%s", err, log)
	}
}
