package gatewaytest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A Log is the log of a gateway, in JSON.
type Log struct{ testkit.Buffer }

// A LogLine is a line of the log.
type LogLine struct {
	Level     string `json:"level"`
	Msg       string `json:"msg"`
	RequestID string `json:"request_id"`
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Kind      string `json:"kind"`
	Code      string `json:"code"`
	Origin    string `json:"origin"`
	Effect    string `json:"effect"`
	Attempts  int    `json:"attempts"`
	Wait      string `json:"wait"`
	Note      string `json:"note"`
	Cause     string `json:"cause"`
	Before    string `json:"before"`
	After     string `json:"after"`
	Peer      string `json:"peer"`
	Path      string `json:"path"`

	NotRepeated string `json:"not_repeated"`
}

// Lines returns the lines of the log.
func (l *Log) Lines(tb testing.TB) []LogLine {
	tb.Helper()
	var lines []LogLine
	for text := range strings.Lines(l.String()) {
		var line LogLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			tb.Fatalf("log line %q: %v", text, err)
		}
		lines = append(lines, line)
	}
	return lines
}

// Failures returns the lines about failures.
func (l *Log) Failures(tb testing.TB) []LogLine {
	tb.Helper()
	var failures []LogLine
	for _, line := range l.Lines(tb) {
		if line.Msg == "failure" || line.Msg == "observed" {
			failures = append(failures, line)
		}
	}
	return failures
}

// Outcomes is an observer that keeps what it is told.
type Outcomes chan *observe.Outcome

// Ended implements [observe.Observer].
func (o Outcomes) Ended(told *observe.Outcome) { o <- told.Keep() }

// RecordIn returns the record in an answer: in the _meta of a result or in the data of a JSON-RPC error. It is nil if there is none.
func RecordIn(a *testkit.Answer) json.RawMessage {
	if a.Message.Error == nil {
		result, _ := a.ToolResult() // without a result there is no record
		return result.Meta[recourse.MetaKey]
	}
	var data map[string]json.RawMessage
	if json.Unmarshal(a.Message.Error.Data, &data) != nil {
		return nil
	}
	if data["v"] != nil {
		return a.Message.Error.Data
	}
	return data[recourse.MetaKey]
}

// Record returns what [RecordIn] does, decoded, and fails the test if there is none.
func Record(tb testing.TB, a *testkit.Answer) *recourse.Error {
	tb.Helper()
	if a.Message == nil {
		tb.Fatalf("got HTTP %d %s, want a message", a.Status, a.Body)
	}
	e := new(recourse.Error)
	if err := json.Unmarshal(RecordIn(a), e); err != nil {
		tb.Fatalf("no record in %s: %v", a.Body, err)
	}
	return e
}

// Shown returns an answer without the record in _meta, and with REQ for the request id.
func Shown(tb testing.TB, a *testkit.Answer) string {
	tb.Helper()
	if a.Message == nil {
		tb.Fatalf("got HTTP %d %s, want a message", a.Status, a.Body)
	}
	raw := string(a.Message.Result)
	if a.Message.Error != nil {
		_, raw, _ = strings.Cut(string(a.Message.Raw), `"error":`)
		raw = strings.TrimSuffix(raw, "}")
	}
	raw = string(internaljson.Without(internaljson.Value(raw), "_meta"))
	if id := a.Header.Get("X-Request-Id"); id != "" {
		raw = strings.ReplaceAll(raw, id, "REQ")
	}
	return raw
}

// HeldBack checks that a call was refused, without time passing or being sent, because the server is down, for that time.
func HeldBack(tb testing.TB, a *testkit.Answer, wait time.Duration) {
	tb.Helper()
	e := Record(tb, a)
	if e.Kind != recourse.KindUnavailable || e.Origin != recourse.OriginGateway || e.Effect != recourse.EffectNone || e.Retry != recourse.RetrySameCall {
		tb.Errorf("got refusal %#v", e)
	}
	if e.RetryAfter < wait || e.RetryAfter > wait+10*time.Millisecond || a.Took != 0 {
		tb.Errorf("after %s: got wait %s, want %s", a.Took, e.RetryAfter, wait)
	}
	if !strings.Contains(string(a.Body), "This one was not sent.") {
		tb.Errorf("got %s, want a sentence that says so", a.Body)
	}
}
