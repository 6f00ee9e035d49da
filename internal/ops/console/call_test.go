package console_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/ops/journal"
)

func TestCall(t *testing.T) {
	t.Parallel()

	s := openStore(t)
	write(t, s, failed("req-1", timeout()))
	g, _ := newGateway(t, s)
	url := serve(t, console.Sources{Journal: s.Journal(), Gateway: g})
	resp, page := get(t, url+"/calls/req-1")
	page = html.UnescapeString(page)
	for _, want := range []string{
		"Attempt 1", "unreachable, no answer", "repeated, because the tool only reads", "Wait", "Attempt 2",
		"unavailable, HTTP 503 Service Unavailable", "not repeated: gave up after 2 attempts",
		`order_get(reference='A-17'), and look at status`, "HTTP 200 with 853 bytes",
		"dial tcp 127.0.0.1:9101: connect: connection refused",
		`$ recourse explain req-1`, "+1ms       sent to farm",
		"curl 'https://tools.example.com/farm/mcp'", `"arguments":{"field_id":"F-1"}`, `Bearer $RECOURSE_KEY`,
		`href="/failures?caller=ada"`, `<rect class="bar" x="30.00%" width="50.00%"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s on the page", want)
		}
	}
	if resp.StatusCode != http.StatusOK || t.Failed() {
		t.Logf("HTTP %d\n%s", resp.StatusCode, page)
	}
}

// Of a tool about which nobody says anything, the page says that it is only assumed to write.
func TestCallOfUnknownNature(t *testing.T) {
	t.Parallel()

	call := failed("req-1", timeout())
	call.Nature = journal.Assumed
	url, _ := withJournal(t, call)
	if _, page := get(t, url+"/calls/req-1"); !strings.Contains(page, "assumed to write") {
		t.Errorf("got page\n%s", page)
	}
}

func TestUnknownCall(t *testing.T) {
	t.Parallel()

	url, _ := withJournal(t)
	resp, page := get(t, url+"/calls/req-9")
	if resp.StatusCode != http.StatusNotFound || !strings.Contains(page, "no request req-9") {
		t.Errorf("HTTP %d\n%s", resp.StatusCode, page)
	}
}

// Clients may choose request ids, so several calls can have the same one.
func TestCallsOfOneID(t *testing.T) {
	t.Parallel()

	one, other := failed("again", timeout()), failed("again", timeout())
	other.Tool = "put_field"
	url, _ := withJournal(t, one, other)
	_, page := get(t, url+"/calls/again")
	if !strings.Contains(page, "2 calls had this request id") || !strings.Contains(page, "put_field") || strings.Count(page, "<article") != 2 {
		t.Errorf("got page\n%s", page)
	}
}
