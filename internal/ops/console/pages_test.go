package console_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/store"
)

// post submits a form like a page of the console.
func post(t *testing.T, at string, form url.Values) (resp *http.Response, body string) {
	t.Helper()
	resp, err := http.PostForm(at, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(raw)
}

// The page shows servers and their states, without secrets.
func TestServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, list := get(t, w.url+"/servers")
	for _, want := range []string{"Farm", "http://127.0.0.1:9101/mcp", "answers", "does not answer: timeout", "not called yet", "1,500", "notesd"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in the list", want)
		}
	}
	_, err := w.store.Pins().Save(t.Context(), "farm", &pin.Changes{Tools: []*pin.Pin{{Name: "steal", Waiting: "{}"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, farm := get(t, w.url+"/servers/farm")
	for _, want := range []string{
		"1 change of a tool waits", "100 calls in 1m by caller", "4 calls at once by caller, of import_*", "closed, 0 of 0 calls failed", "0 of 20", "Retry budget", "/contracts/fieldmcp",
	} {
		if !strings.Contains(farm, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if strings.Contains(list+farm, "s3cr3t") {
		t.Error("the page has a secret")
	}
	if resp, _ := get(t, w.url+"/servers/barn"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown server: HTTP %d", resp.StatusCode)
	}
}

var chartLabel = regexp.MustCompile(`aria-label="([0-9,]+) failures since`)

// The chart and the lists beside it count the failures that the list has.
func TestServerCountsMatchLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page, err := w.store.Journal().Page(t.Context(), &store.Filter{Server: "farm", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for i := range page.Counts {
		if page.Counts[i].Server == "farm" {
			want += int(page.Counts[i].Failures)
		}
	}
	_, body := get(t, w.url+"/servers/farm?since=7d")
	label := chartLabel.FindStringSubmatch(body)
	if len(label) == 0 || number(t, label[1]) != want {
		t.Errorf("the chart counts %v, want %d", label, want)
	}
	for _, heading := range []string{"Tools that fail", "Callers whose calls fail"} {
		_, rest, _ := strings.Cut(body, heading)
		rest, _, _ = strings.Cut(rest, "</ol>")
		sum := 0
		for _, n := range regexp.MustCompile(`class="number">([0-9,]+)<`).FindAllStringSubmatch(rest, -1) {
			sum += number(t, n[1])
		}
		if sum != want {
			t.Errorf("%s: %d, want %d", heading, sum, want)
		}
	}
}

// Without a journal, the page shows the process's own counts, and how to keep more.
func TestServersWithoutJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tally := console.NewTally()
	tally.Ended(&observe.Outcome{Server: "farm", Method: "tools/call", Began: time.Now(), Record: recourse.Timeout("x", 0)})
	from := w.sources
	from.Journal, from.Tally = nil, tally
	at := serve(t, from)
	_, body := get(t, at+"/servers/farm")
	if !strings.Contains(body, `aria-label="1 failure since `) || !strings.Contains(body, "store: sqlite:recourse.db") {
		t.Errorf("no counts, or no word on how to keep failures:\n%s", body)
	}
	if _, body := get(t, at+"/contracts"); !strings.Contains(body, "store: sqlite:recourse.db") {
		t.Error("the page of contracts does not say how to count codes")
	}
}

// Each code has a page, with its counterparts in the other contracts.
func TestContracts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, list := get(t, w.url+"/contracts")
	_, one := get(t, w.url+"/contracts/fieldmcp")
	if !strings.Contains(list, "FieldMCP") || !strings.Contains(one, "A required parameter was not provided.") || !strings.Contains(one, "\n## ") {
		t.Error("no description of the contract")
	}
	codes := regexp.MustCompile(`href="(/contracts/[a-z]+/codes/[^"]+)"`)
	for _, name := range []string{"recourse", "fieldmcp", "commerce", "studies", "patterns", "terra"} {
		_, body := get(t, w.url+"/contracts/"+name)
		found := codes.FindAllStringSubmatch(body, -1)
		if len(found) < 5 {
			t.Errorf("%s has %d codes", name, len(found))
		}
		for i, code := range found {
			if i%5 != 0 { // the pages are alike
				continue
			}
			resp, page := get(t, w.url+code[1])
			if resp.StatusCode != http.StatusOK || strings.Count(page, `aria-label="As `) != 6 {
				t.Errorf("%s: HTTP %d, %d forms", code[1], resp.StatusCode, strings.Count(page, `aria-label="As `))
			}
		}
	}
	for _, path := range []string{"/contracts/none", "/contracts/fieldmcp/codes/NONE"} {
		if resp, _ := get(t, w.url+path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: HTTP %d", path, resp.StatusCode)
		}
	}
}

// An account is reconnected with a link, and disconnected after a confirmation. No token is shown.
func TestConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, list := get(t, w.url+"/connections")
	if !strings.Contains(list, "the provider has revoked it") || !strings.Contains(list, "connected by carol") || strings.Contains(list, "s3cr3t") {
		t.Errorf("got list\n%s", list)
	}
	for _, want := range []string{`aria-label="Reconnect bob at deere"`, `aria-label="Disconnect bob from deere"`, "there is none"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in the list", want)
		}
	}
	if strings.Index(list, ">bob<") > strings.Index(list, ">ada<") {
		t.Error("accounts to be reconnected are not listed first")
	}
	bob := url.Values{"provider": {"deere"}, "owner": {"bob"}}
	if _, page := post(t, w.url+"/connections/link", bob); !strings.Contains(page, "https://tools.example.com/connect/") {
		t.Errorf("no link:\n%s", page)
	}
	if _, page := get(t, w.url+"/connections/disconnect?"+bob.Encode()); !strings.Contains(page, "Disconnect bob from deere?") {
		t.Errorf("no confirmation:\n%s", page)
	}
	if _, ok, err := w.accounts.Get(t.Context(), "deere", "bob"); !ok || err != nil {
		t.Fatalf("disconnected without a confirmation (%v)", err)
	}
	if resp, page := post(t, w.url+"/connections/disconnect", bob); resp.Request.URL.Path != "/connections" || strings.Contains(page, "bob") {
		t.Errorf("not disconnected: %s\n%s", resp.Request.URL, page)
	}
	for _, path := range []string{"/connections/disconnect", "/connections/link"} {
		if resp, _ := post(t, w.url+path, bob); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s after disconnecting: HTTP %d", path, resp.StatusCode)
		}
	}
	if _, page := get(t, serve(t, console.Sources{})+"/connections"); !strings.Contains(page, "providers:") {
		t.Error("without providers, the page does not say how to configure them")
	}
}

// A failure counts as an answer of the server. The durations of calls are accurate to an eighth.
func TestTally(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tally := console.NewTally()
	for i := range 1000 {
		tally.Ended(&observe.Outcome{
			Server: "farm", Method: "tools/call", Sent: 1, Began: time.Now(), Took: time.Duration(i+1) * 900 * time.Microsecond,
			Record: recourse.Unavailable("farm"), Attempts: []observe.Attempt{{Failure: recourse.KindUnavailable, Status: http.StatusServiceUnavailable}},
		})
	}
	tally.Ended(&observe.Outcome{Server: "farm", Began: time.Now(), Took: time.Hour}) // a stream
	from := w.sources
	from.Tally = tally
	_, page := get(t, serve(t, from)+"/servers/farm")
	if !strings.Contains(page, "state-answers") || strings.Contains(page, "state-silent") {
		t.Error("a server that answers 503 counts as unreachable")
	}
	for name, want := range map[string]float64{"p50": 450, "p99": 891} {
		told := regexp.MustCompile(name + `</dt><dd>(\d+) ms`).FindStringSubmatch(page)
		if len(told) == 0 || number(t, told[1]) < int(want*7/8) || number(t, told[1]) > int(want*9/8) {
			t.Errorf("%s: got %q, want about %g", name, told, want)
		}
	}
}

// A code is counted if it comes from a server with its contract.
func TestCodesAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	listed, err := w.store.Journal().Find(t.Context(), &store.Filter{Failures: true, Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	sums := map[string]int{}
	for _, e := range listed {
		counted[e.Server+" "+e.Code]++
		sums[e.Server]++
	}
	contractOf := map[string]string{"farm": "fieldmcp", "shop": "commerce", "notes": "recourse"}
	seen := regexp.MustCompile(`Seen</dt><dd>([0-9,]+)<`)
	for server, want := range sums {
		_, page := get(t, w.url+"/contracts/"+contractOf[server])
		if told := seen.FindStringSubmatch(page); len(told) == 0 || number(t, told[1]) != want {
			t.Errorf("failures of %s: got count %q, want %d", server, told, want)
		}
	}
	for key, want := range counted {
		server, code, _ := strings.Cut(key, " ")
		_, page := get(t, w.url+"/contracts/"+contractOf[server]+"/codes/"+url.PathEscape(code))
		told := seen.FindStringSubmatch(page)
		if len(told) == 0 || number(t, told[1]) != want {
			t.Errorf("%s of %s: got count %q, want %d", code, server, told, want)
		}
	}
}

var listedServer = regexp.MustCompile(`class="whole" href="/servers/(\w+)"`)

// The list of servers is sorted and filtered by its URL, and shows how often programs have ended.
func TestServerList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for query, want := range map[string]string{
		"": "farm shop notes", "sort=name": "farm notes shop", "sort=failed": "farm shop notes", "sort=calls": "farm shop notes", "sort=state": "shop farm notes",
		"sort=restarts": "notes farm shop", "sort=unknown": "farm shop notes", "text=COMMERCE": "shop", "text=127.0.0.1": "farm", "text=nothing": "",
		"state=silent": "shop", "state=idle&sort=p99": "notes", "state=x": "",
	} {
		resp, body := get(t, w.url+"/servers?"+query)
		var got []string
		for _, found := range listedServer.FindAllStringSubmatch(body, -1) {
			got = append(got, found[1])
		}
		if resp.StatusCode != http.StatusOK || strings.Join(got, " ") != want {
			t.Errorf("%s: HTTP %d, %q, want %q", query, resp.StatusCode, got, want)
		}
		if strings.Contains(want, "notes") != strings.Contains(body, `data-name="Restarts" class="number">0<`) {
			t.Errorf("%s: no restarts", query)
		}
	}
}
