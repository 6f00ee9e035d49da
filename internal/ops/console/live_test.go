package console_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/ops/console"
)

// events opens a stream of live updates.
func events(t *testing.T, url, lastID string) (*http.Response, *bufio.Scanner) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp, scan(resp.Body)
}

// scan returns the lines of a stream.
func scan(body io.Reader) *bufio.Scanner {
	scanner := bufio.NewScanner(body)
	scanner.Buffer(nil, 1<<20)
	return scanner
}

// next returns the next event with data.
func next(t *testing.T, scanner *bufio.Scanner) (id, data string) {
	t.Helper()
	for scanner.Scan() {
		line := scanner.Text()
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = text
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			data += text + "\n"
		}
		if line == "" && data != "" {
			return id, data
		}
	}
	t.Fatalf("the stream ended: %v", scanner.Err())
	return "", ""
}

// A page gets new failures as they are written, but only those that match its filters, and each once.
func TestLive(t *testing.T) {
	t.Parallel()

	url, s := withJournal(t, mixed(3)...)
	_, page := get(t, url+"/failures?server=farm")
	_, rest, _ := strings.Cut(page, `hx-sse:connect="`)
	path, _, _ := strings.Cut(rest, `"`)
	_, scanner := events(t, url+strings.ReplaceAll(path, "&amp;", "&"), "")

	call, other := failed("req-new", timeout()), failed("req-other", timeout())
	call.Tool, other.Server = "two\rlines\ndata: x", "shop"
	write(t, s, call, other)
	id, told := next(t, scanner)
	for _, want := range []string{"1 new failure<", "/calls/req-new", `class="new"`, "two", "lines"} {
		if !strings.Contains(told, want) {
			t.Errorf("live updates:\n%s\nno %s", told, want)
		}
	}
	if strings.Contains(told, "req-other") || strings.Count(told, `class="new"`) != 1 {
		t.Errorf("live updates:\n%s", told)
	}

	_, again := events(t, url+"/failures/live?server=farm", id) // after a broken connection
	write(t, s, failed("req-later", timeout()))
	if _, told := next(t, again); !strings.Contains(told, "1 new failure<") {
		t.Errorf("live updates:\n%s", told)
	}
}

// The number of streams is limited, and closing a page frees a place.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()

	url, _ := withJournal(t)
	var open []*http.Response
	for {
		resp, _ := events(t, url+"/failures/live", "")
		if resp.StatusCode == http.StatusServiceUnavailable {
			break
		}
		if open = append(open, resp); len(open) > 100 {
			t.Fatal("there is no limit")
		}
	}
	for _, resp := range open {
		resp.Body.Close()
	}
	for range 1000 {
		resp, _ := events(t, url+"/failures/live", "")
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
	t.Error("no place became free")
}

func TestNothingToFollow(t *testing.T) {
	t.Parallel()

	url, _ := withJournal(t)
	for _, at := range []string{url + "/failures/live?before=5", url + "/failures/live?since=x", serve(t, console.Sources{}) + "/failures/live"} {
		if resp, _ := events(t, at, ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: HTTP %d", at, resp.StatusCode)
		}
	}
}

// If the store is lost, the page says so and keeps its list.
func TestLiveLosesStore(t *testing.T) {
	t.Parallel()

	s := openStore(t)
	url := serve(t, console.Sources{Journal: s.Journal()})
	_, scanner := events(t, url+"/failures/live", "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, told := next(t, scanner); !strings.Contains(told, "may be out of date") || !strings.Contains(told, "<hx-partial") {
		t.Errorf("live updates:\n%s", told)
	}
}
