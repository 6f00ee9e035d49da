//go:build unix

package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/wildtest"
)

// wildServer has a tool that reads for each of these results, which it gives for an id that does not exist. Otherwise it
// does what it should.
type wildServer []wildResult

// wildResult is a recorded answer of a tool.
type wildResult struct {
	name   string
	result string
}

// absent is the id that a check takes for one that does not exist.
const absent = `"recourse-check-0f5c2e-no-such-thing"`

func (s wildServer) Open(context.Context) (server.Conn, error) { return s, nil }
func (wildServer) Stdio() bool                                 { return false }
func (wildServer) Strays() []server.Stray                      { return nil }
func (wildServer) Close() bool                                 { return true }
func (wildServer) Break()                                      {}

// Send answers like the fixture, but for the recorded results.
func (s wildServer) Send(_ context.Context, m server.Message) server.Reply {
	var said message
	_ = json.Unmarshal(m.Text, &said)
	text, i := "", slices.IndexFunc(s, func(r wildResult) bool { return r.name == said.Params.Name })
	switch {
	case said.Method == "tools/list":
		text = rpcResult(m.ID, `{"tools":[`+strings.Join(s.tools(), ",")+`]}`)
	case said.Method == "tools/call" && i >= 0 && string(said.Params.Arguments["order_id"]) == absent && len(said.Params.Arguments) == 1:
		text = rpcResult(m.ID, s[i].result)
	case said.Method == "tools/call" && i >= 0:
		text = rpcResult(m.ID, `{"isError":true,"content":[{"type":"text","text":"order_id must be a string, and there is no argument recourse_check."}]}`)
	default:
		if answers := new(fixture).answer(string(m.Text)); len(answers) > 0 {
			text = answers[0]
		}
	}
	if m.ID == "" {
		return server.Reply{}
	}
	return server.Reply{Text: []byte(text), Status: 200}
}

func rpcResult(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
}

func (s wildServer) tools() (list []string) {
	for _, r := range s {
		list = append(list, fmt.Sprintf(`{"name":%q,"description":"Reads an order.","annotations":{"readOnlyHint":true},"inputSchema":`+
			`{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"],"additionalProperties":false}}`, r.name))
	}
	return list
}

// wildFindings returns what is found in these results, so many at a time, by rule.
func wildFindings(t *testing.T, at int, results []wildResult) map[string][]check.Finding {
	t.Helper()
	found := map[string][]check.Finding{}
	synctest.Test(t, func(t *testing.T) {
		for some := range slices.Chunk(results, at) {
			report := check.Check(t.Context(), wildServer(some), check.Options{Mode: check.Safe})
			if report.Stopped != "" && at > 1 {
				t.Error(report.Stopped)
			}
			for i := range report.Findings {
				if f := report.Findings[i]; slices.ContainsFunc(some, func(r wildResult) bool { return r.name == f.Tool }) {
					found[f.Rule] = append(found[f.Rule], f)
				}
			}
		}
	})
	return found
}

// empty are successes that say nothing. That is right elsewhere, and wrong for an id that does not exist.
var empty = []string{"records-empty-object", "records-empty-list", "records-null-text", "results-empty-content", "results-empty-text"}

// relative are the rules that no single answer can trip.
var relative = []string{"causes-apart", "same-again", "fits-output-schema"}

// No rule is tripped by a success of a real server. The page says how many failures trip each rule; -v prints them, so that
// false alarms can be judged.
func TestWildAnswers(t *testing.T) {
	t.Parallel()
	corpus, err := wildtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	var innocents, failures []wildResult
	for i := range corpus.Innocents {
		innocent := &corpus.Innocents[i]
		innocents = append(innocents, wildResult{innocent.Topic + "-" + innocent.Name, string(innocent.Result)})
	}
	held := map[string]bool{} // they must not be looked at
	var waiting []wildResult  // they may stop a check, and get one of their own
	for i := range corpus.Failures {
		if f := &corpus.Failures[i]; f.Answer.Result != nil {
			name := f.Family + "-" + f.Name
			held[name] = f.Held
			if f.Want.After > 0 || slices.Contains(f.Want.Kinds, recourse.KindRateLimited) {
				waiting = append(waiting, wildResult{name, string(f.Answer.Result)})
			} else {
				failures = append(failures, wildResult{name, string(f.Answer.Result)})
			}
		}
	}
	right, tripped := wildFindings(t, 50, innocents), wildFindings(t, 50, failures) // a check calls 60 tools
	for rule, found := range wildFindings(t, 1, waiting) {
		tripped[rule] = append(tripped[rule], found...)
	}
	for rule, found := range right {
		for i := range found {
			if rule != "absent-told" || !slices.Contains(empty, found[i].Tool) {
				t.Errorf("%s is tripped by the success %s: %s", rule, found[i].Tool, found[i].Said)
			}
		}
	}
	var rates strings.Builder
	fmt.Fprintf(&rates, "# How many recorded answers of real servers trip a rule. Written by its test.\nsuccesses: %d\nfailures: %d\ntrips:\n",
		len(innocents), len(failures)+len(waiting))
	for _, rule := range check.Rules() {
		if rule.Group == "readable failures" && !slices.Contains(relative, rule.ID) {
			fmt.Fprintf(&rates, "  %s: {failures: %d, successes: %d}\n", rule.ID, len(tripped[rule.ID]), len(right[rule.ID]))
		}
		for _, f := range tripped[rule.ID] {
			if !held[f.Tool] {
				t.Logf("%s: %s: %s", rule.ID, f.Tool, f.Said)
			}
		}
	}
	contracttest.Golden(t, "wild.yaml", rates.String())
}

// pickyServer answers every call in these words.
type pickyServer struct {
	wildServer

	words    string
	succeeds bool
}

func (s pickyServer) Open(context.Context) (server.Conn, error) { return s, nil }

func (s pickyServer) Send(ctx context.Context, m server.Message) server.Reply {
	var said message
	_ = json.Unmarshal(m.Text, &said)
	var text string
	switch {
	case said.Method == "tools/list":
		text = `{"tools":[{"name":"fetch","description":"Fetches a page.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object",` +
			`"properties":{"pageUrl":{"type":"string"},"mode":{"type":"string","default":"text"}},"required":["pageUrl","mode"],"additionalProperties":false}}]}`
	case said.Method == "tools/call" && (said.Params.Name == "fetch" || s.words == noBrowser):
		text = fmt.Sprintf(`{"isError":%t,"content":[{"type":"text","text":%q}]}`, !s.succeeds, s.words)
	default:
		return s.wildServer.Send(ctx, m)
	}
	return server.Reply{Text: []byte(rpcResult(m.ID, text)), Status: 200}
}

// noBrowser is how a server fails on a machine that lacks what it needs, whatever it is asked.
const noBrowser = "Error: Chromium distribution 'chrome' is not found at /opt/chrome. Run npx playwright install chrome"

// patientServer notes how long it may take to list its tools.
type patientServer struct {
	pickyServer

	within *time.Duration
}

func (s patientServer) Open(context.Context) (server.Conn, error) { return s, nil }

func (s patientServer) Send(ctx context.Context, m server.Message) server.Reply {
	var said message
	_ = json.Unmarshal(m.Text, &said)
	if end, limited := ctx.Deadline(); limited && said.Method == "tools/list" && *s.within == 0 {
		*s.within = time.Until(end)
	}
	return s.pickyServer.Send(ctx, m)
}

// A gateway answers initialize while the program behind it still starts: the first list may take as long as a start.
func TestFirstListMayTakeLong(t *testing.T) {
	t.Parallel()
	var within time.Duration
	check.Check(t.Context(), patientServer{within: &within}, check.Options{Mode: check.Static, Timeout: time.Hour})
	if within < 2*time.Hour {
		t.Errorf("only %s", within)
	}
}

// So may the first answer in a connection of the modern era, where nothing begins a session.
func TestFirstAnswerInModernMayTakeLong(t *testing.T) {
	t.Parallel()
	to := erasServer(t, func(next http.Handler) http.Handler { return next })
	slow := &slowStart{Server: to, took: map[server.Conn]time.Duration{}}
	report := check.Check(t.Context(), slow, check.Options{Mode: check.Safe, Timeout: time.Hour})
	if len(report.Server.Eras) != 2 || len(slow.took) < 3 {
		t.Fatalf("eras: %v, connections: %d", report.Server.Eras, len(slow.took))
	}
	for _, within := range slow.took {
		if within < 2*time.Hour {
			t.Errorf("only %s", within)
		}
	}
}

// slowStart notes how long the first answer but that to server/discover may take in each connection.
type slowStart struct {
	server.Server

	took map[server.Conn]time.Duration
}

type slowConn struct {
	server.Conn

	of *slowStart
}

func (s *slowStart) Open(ctx context.Context) (server.Conn, error) {
	conn, err := s.Server.Open(ctx)
	return &slowConn{conn, s}, err
}

func (c *slowConn) Send(ctx context.Context, m server.Message) server.Reply {
	end, limited := ctx.Deadline()
	if _, known := c.of.took[c]; m.ID != "" && limited && !known && !strings.Contains(string(m.Text), "server/discover") {
		c.of.took[c] = time.Until(end)
	}
	return c.Conn.Send(ctx, m)
}

// A tool that ignores an argument that it does not have, and says so, hides nothing.
func TestIgnoredAndTold(t *testing.T) {
	t.Parallel()
	report := check.Check(t.Context(), pickyServer{words: "Ignored: recourse_check.", succeeds: true}, check.Options{Mode: check.Safe})
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Rule == "arguments-refused" && strings.Contains(f.Said, "the tool does not have") {
			t.Error(f.Said)
		}
	}
}

// A refusal of another argument, which the check has made up, is not held against a server, and one of something else is none of
// arguments: the schema does not say that a URL is absolute, and the machine lacks a browser. What has a default need not be there.
func TestMadeUpArguments(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"pageUrl is not an absolute URL", noBrowser, "MCP error -32601: Tool fetch requires task augmentation",
		"Page url is required", "There is no file recourse-check-0f5c2e-no-such-thing", "Session recourse-check-0f5c2e-no-such-thing was not found",
	} {
		report := check.Check(t.Context(), pickyServer{words: words}, check.Options{Mode: check.Safe})
		for _, rule := range []string{"argument-named", "arguments-at-once", "unknown-tool", "no-secret"} {
			if found := sentences(report, rule); found != nil {
				t.Error(found)
			}
		}
	}
}
