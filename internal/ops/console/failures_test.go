package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/ops/console"
)

var (
	reRow    = regexp.MustCompile(`<tr role="row" id="call-(\d+)"`)
	reTotal  = regexp.MustCompile(`<p class="total"><b>([\d,]+) failures?</b>`)
	reChoice = regexp.MustCompile(`<a class="choice"[^>]* href="([^"]+)"><span class="value">([^<]*)</span> <span class="count">([\d,]+)</span>`)
	reOlder  = regexp.MustCompile(`rel="next" href="([^"]+)"`)
)

// rows returns the calls listed on a page.
func rows(page string) []string {
	var found []string
	for _, m := range reRow.FindAllStringSubmatch(page, -1) {
		found = append(found, m[1])
	}
	return found
}

// total returns the total number of failures on a page.
func total(t *testing.T, page string) int {
	t.Helper()
	m := reTotal.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no total in\n%s", page)
	}
	return number(t, m[1])
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// listed follows the links to further pages, and returns the calls of all pages.
func listed(t *testing.T, url, path string) []string {
	t.Helper()
	var met []string
	for path != "" {
		_, page := get(t, url+path)
		met = append(met, rows(page)...)
		path = ""
		if older := reOlder.FindStringSubmatch(page); older != nil {
			path = html.UnescapeString(older[1])
		}
	}
	return met
}

// Each counter on the page is the number of failures that its link lists, whatever filters are set.
func TestCountersMatchLists(t *testing.T) {
	t.Parallel()

	url, _ := withJournal(t, mixed(130)...)
	followed := 0
	for _, from := range []string{
		"/failures", "/failures?server=farm", "/failures?kind=timeout&origin=server", "/failures?caller=acme", "/failures?tool=put&caller=ada",
		"/failures?server=nowhere", "/failures?text=FARM+did", "/failures?since=" + time.Now().Add(-2*time.Minute).UTC().Format(time.RFC3339), "/failures?server=farm&kind=conflict",
	} {
		_, page := get(t, url+from)
		met := listed(t, url, from)
		if total(t, page) != len(met) || len(slices.Compact(slices.Sorted(slices.Values(met)))) != len(met) {
			t.Errorf("%s: total %d, but %d are listed", from, total(t, page), len(met))
		}
		if !slices.IsSortedFunc(met, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("%s: not the latest first", from)
		}
		for _, m := range reChoice.FindAllStringSubmatch(page, -1) {
			followed++
			to := html.UnescapeString(m[1])
			if met := listed(t, url, to); len(met) != number(t, m[3]) {
				t.Errorf("%s: the counter %s is %s, but %s lists %d", from, m[2], m[3], to, len(met))
			}
		}
	}
	if followed < 60 {
		t.Errorf("followed only %d counters", followed)
	}
}

// A filter is added to the others in the URL, and can be removed alone.
func TestFilters(t *testing.T) {
	t.Parallel()

	url, _ := withJournal(t, mixed(20)...)
	_, page := get(t, url+"/failures?server=farm&since=1h")
	for _, want := range []string{
		`href="/failures?kind=timeout&amp;server=farm&amp;since=1h"`, // with another filter
		`href="/failures?since=1h"`,                                  // without the server
		`href="/failures?server=farm&amp;since=15m"`,                 // another period
		`<input type="hidden" name="server" value="farm">`,           // in the form for a period
		`in the last hour`,
		`<span class="unit"> sent</span>`, // after a number, on phones
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s on the page", want)
		}
	}
	if strings.Contains(page, "shop</span> <span class=\"soft\"") {
		t.Error("the page lists another server's calls")
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()

	url, _ := withJournal(t, mixed(20)...)
	for query, want := range map[string]int{
		"since=24h": 20, "since=1m": 0, "since=2020-01-01T00:00:00Z": 20, "until=2020-01-01T00:00": 0, "since=2020-01-01T00:00&until=2100-01-01T00:00": 20,
	} {
		if _, page := get(t, url+"/failures?kind=&"+query); len(rows(page)) != want {
			t.Errorf("%s lists %d, want %d", query, len(rows(page)), want)
		}
	}
	for _, query := range []string{"since=yesterday", "until=x", "before=x", "since=-1h"} {
		resp, page := get(t, url+"/failures?"+query)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(page, "<h1>") {
			t.Errorf("%s: HTTP %d", query, resp.StatusCode)
		}
	}
}

func TestNoFailures(t *testing.T) {
	t.Parallel()

	url, _ := withJournal(t)
	if _, page := get(t, url+"/failures"); !strings.Contains(page, "<pre>recourse call ") {
		t.Errorf("the page does not say how to get failures:\n%s", page)
	}
	url, _ = withJournal(t, mixed(3)...)
	if _, page := get(t, url+"/failures?server=nowhere"); !strings.Contains(page, "No failure is chosen") {
		t.Errorf("the page does not say that nothing matches the filters:\n%s", page)
	}
}

// A store that cannot be read is reported on a complete page.
func TestLostStore(t *testing.T) {
	t.Parallel()

	s := openStore(t)
	url := serve(t, console.Sources{Journal: s.Journal()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/failures", "/calls/req-1"} {
		resp, page := get(t, url+path)
		if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page, "The store cannot be read") || !strings.Contains(page, "</nav>") {
			t.Errorf("%s: HTTP %d\n%s", path, resp.StatusCode, page)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()

	url, _ := withJournal(t, mixed(120)...)
	_, page := get(t, url+"/failures")
	var counts []int
	for range 3 {
		counts = append(counts, len(rows(page)))
		older := reOlder.FindStringSubmatch(page)
		if older == nil {
			break
		}
		_, page = get(t, url+html.UnescapeString(older[1]))
	}
	if diff := cmp.Diff([]int{50, 50, 20}, counts); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(page, "hx-sse") {
		t.Error("a later page has live updates")
	}
}

// Equal failures are one, with their number, also if their messages differ in numbers. Filters apply, and a group leads to its failures.
func TestGroups(t *testing.T) {
	t.Parallel()
	calls := mixed(40)
	for i, c := range calls {
		switch i % 4 {
		case 0:
			c.Server, c.Tool, c.Failure = "farm", "get", recourse.NotFound("field", fmt.Sprint("F-", i)).WithOrigin(recourse.OriginServer)
		case 1:
			c.Server, c.Tool, c.Failure = "farm", "get", recourse.Timeout("Farm", time.Second).WithOrigin(recourse.OriginServer)
		default:
			c.Server, c.Tool, c.Failure = "shop", "put", recourse.RateLimited(time.Second).WithOrigin(recourse.OriginGateway)
		}
	}
	url, _ := withJournal(t, calls...)
	for query, want := range map[string]string{"": "20 10 10", "&server=farm": "10 10", "&kind=timeout": "10", "&text=F-4": "1", "&server=barn": ""} {
		_, page := get(t, url+"/failures?group=equal"+query)
		var got []string
		for _, found := range regexp.MustCompile(`data-name="Times" class="number"><b>(\d+)<`).FindAllStringSubmatch(page, -1) {
			got = append(got, found[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
		for _, link := range regexp.MustCompile(`class="whole" href="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if n := len(listed(t, url, html.UnescapeString(link[1]))); strconv.Itoa(n) != got[0] {
				t.Errorf("%s: %s lists %d", query, link[1], n)
			}
			got = got[1:]
		}
	}
}
