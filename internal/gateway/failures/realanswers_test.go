package failures_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// What is asked of the gateway in front of servers that nobody here wrote, with nothing configured.
const (
	minBetter = 60.0 // percent of the failures
	minKinds  = 92.0 // percent of the failures that are told as such
)

var showAnswers = flag.Bool("answers", false, "print each recorded answer, as an agent reads it")

// Real answers of real servers, with nothing configured and from tools that say nothing about themselves: an agent is never
// worse off than without the gateway, and mostly better. [verdict] says what that means. With -v, the table; with
// -answers, every text.
func TestRealAnswers(t *testing.T) {
	t.Parallel()
	failures, successes, err := recordedAnswers()
	if err != nil {
		t.Fatal(err)
	}
	client, srv := realServer(t, failures)
	n := compare(t, client, srv, failures)
	alarms := 0
	for _, text := range successes {
		if !passesSuccess(t, client, srv, text) {
			alarms++
			t.Logf("false alarm: %.200q", text)
		}
	}
	n.check(t, 0)
	t.Logf("  false alarms %3d  of %d successes", alarms, len(successes))
	if alarms > 0 {
		t.Error("want 0 false alarms")
	}
}

// The same of texts that were not recorded, but written down from memory. One is by chance in the form of a contract, with more
// members than that has.
func TestRecalledAnswers(t *testing.T) {
	t.Parallel()
	failures, err := recalledAnswers()
	if err != nil {
		t.Fatal(err)
	}
	client, srv := realServer(t, failures)
	n := compare(t, client, srv, failures)
	n.check(t, 1)
}

// A comparison counts what an agent reads through the gateway that is worse, the same or better than the bare answer.
type comparison struct{ all, worse, same, better, harmful, told, kinds, masked int }

// compare has the server give each answer, and judges what an agent reads.
func compare(t *testing.T, client *testkit.Client, srv *testkit.Server, failures []*answered) (n comparison) {
	t.Helper()
	n.all = len(failures)
	for i, a := range failures {
		read, e := reads(t, client, srv, a)
		v := judge(a, read, e)
		name := fmt.Sprintf("%d, %s %s", i, a.Server, a.Tool)
		switch {
		case len(v.Worse) > 0:
			n.worse++
			t.Logf("worse: %s: %q\n  bare: %.300q\n  read: %.600q", name, v.Worse, a.Bare(), read)
		case v.Better:
			n.better++
		default:
			n.same++
		}
		if len(v.Masked) > 0 {
			n.masked++
			t.Logf("masked: %s: %q", name, v.Masked)
		}
		if len(v.Harmful) > 0 {
			n.harmful++
			t.Logf("harmful: %s: %q", name, v.Harmful)
		}
		if e == nil {
			continue
		}
		if n.told++; v.Kind {
			n.kinds++
		} else {
			t.Logf("kind: %s: %s, want %s: %.300q", name, e.Kind, a.Kinds, a.Bare())
		}
		if *showAnswers {
			t.Logf("%s\n%s\n-- %s\n", name, read, v.Worse)
		}
	}
	return n
}

// check prints the table, and fails below what is asked; as many as worse may be worse.
func (n comparison) check(t *testing.T, worse int) {
	t.Helper()
	share := func(part, of int) float64 { return 100 * float64(part) / float64(of) }
	better, kinds := share(n.better, n.all), share(n.kinds, n.told)
	t.Logf("%d failures, nothing configured, tools that say nothing about themselves", n.all)
	t.Logf("  worse        %3d", n.worse)
	t.Logf("  same         %3d", n.same)
	t.Logf("  better       %3d  %.1f %%", n.better, better)
	t.Logf("  harmful      %3d", n.harmful)
	t.Logf("  kinds right  %3d  %.1f %% of the %d that are told as failures", n.kinds, kinds, n.told)
	t.Logf("  masked       %3d  a path or an address", n.masked)
	if n.worse > worse || n.harmful > 0 || better < minBetter || kinds < minKinds {
		t.Errorf("want at most %d worse, 0 harmful, at least %.0f %% better and %.0f %% of the kinds right", worse, minBetter, minKinds)
	}
}

// `recourse explain` previews what the gateway says, to the letter: of real answers, and of HTTP answers (but for
// 404, which is about the session).
func TestExplainPreviews(t *testing.T) {
	t.Parallel()
	failures, _, err := recordedAnswers()
	if err != nil {
		t.Fatal(err)
	}
	for _, trusted := range []bool{false, true} {
		client, srv := realServer(t, failures, fmt.Sprintf("trusted: %t", trusted), "title: The server")
		for i, a := range failures {
			answer := `{"jsonrpc":"2.0","id":1,"result":` + string(a.Result) + `}`
			if a.Error != nil {
				answer = `{"jsonrpc":"2.0","id":1,"error":` + string(a.Error) + `}`
			}
			read, e := reads(t, client, srv, a)
			checkPreview(t, strconv.Itoa(i), answer, explain.ToolFacts{Trusted: trusted, Arguments: []byte(a.Args)}, read, e)
		}
		for _, fault := range []struct {
			status      int
			media, body string
		}{
			{400, "text/plain", "no"},
			{409, "application/json", `{"message":"taken"}`},
			{418, "text/plain", ""},
			{422, "application/json", `{"errors":["a"]}`},
			{429, "text/plain", "slow down"},
			{500, "application/json", `{"status":429}`},
			{501, "text/plain", "no"},
			{502, "text/html", "<html>"},
			{503, "text/plain", ""},
			{403, "text/plain", "no"},
			{401, "text/plain", "no"},
		} {
			srv.Always(failures[0].Tool, faults.StatusWith("", fault.status, fault.media, fault.body))
			got, err := client.Call(t.Context(), failures[0].Tool, "{}")
			if err != nil {
				t.Fatal(err)
			}
			answer := fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: %s\r\n\r\n%s", fault.status, fault.media, fault.body)
			checkPreview(t, strconv.Itoa(fault.status), answer, explain.ToolFacts{Trusted: trusted}, got.Result(t).Text(), gatewaytest.Record(t, got))
		}
	}
}

// checkPreview checks that an explanation of an answer says what the gateway has said.
func checkPreview(t *testing.T, name, answer string, of explain.ToolFacts, read string, e *recourse.Error) {
	t.Helper()
	set := contract.Builtin()
	reading, err := explain.Read([]byte(answer), &contract.Reader{Contracts: set.All(), Trusted: of.Trusted})
	if err != nil {
		t.Fatal(err)
	}
	said := reading.Explanation(set, of).Failure
	switch {
	case e == nil && said == nil:
		return
	case e == nil || said == nil:
		t.Errorf("%s, trusted %t: the gateway told %v, the preview %+v", name, of.Trusted, e, said)
		return
	}
	read = strings.ReplaceAll(read, e.RequestID, "REQUEST_ID")
	if diff := cmp.Diff(read, said.Text); diff != "" {
		t.Errorf("%s, trusted %t: text (-gateway +preview):\n%s", name, of.Trusted, diff)
	}
	if got := [...]any{said.Kind, said.Effect, said.EffectBasis, said.Retry}; got != [...]any{e.Kind, e.Effect, e.EffectBasis, e.RetryAdvice()} {
		t.Errorf("%s, trusted %t: the preview has %v, the gateway %s %s %s %s", name, of.Trusted, got, e.Kind, e.Effect, e.EffectBasis, e.RetryAdvice())
	}
}

// realServer returns a server whose tools have the names of the recorded ones and say nothing else about themselves, and a
// client of a gateway in front of it, with nothing configured but entry.
func realServer(t *testing.T, failures []*answered, entry ...string) (*testkit.Client, *testkit.Server) {
	t.Helper()
	var tools []testkit.Tool
	for _, a := range failures {
		if !slices.ContainsFunc(tools, func(t testkit.Tool) bool { return t.Name == a.Tool }) {
			tools = append(tools, testkit.Tool{Name: a.Tool})
		}
	}
	srv := testkit.NewServer(t, testkit.WithTools(tools...))
	return gatewaytest.Start(t, srv.URL(), entry...).Client(t, testkit.Legacy), srv
}

// reads returns what an agent reads, and the record beside it, or nil if the answer is the server's own.
func reads(t *testing.T, client *testkit.Client, srv *testkit.Server, a *answered) (string, *recourse.Error) {
	t.Helper()
	fault := faults.Result("", string(a.Result))
	if a.Error != nil {
		fault = faults.Reply("", `"error":`+string(a.Error))
	}
	srv.Always(a.Tool, fault)
	args := string(a.Args)
	if args == "" {
		args = "{}"
	}
	got, err := client.Call(t.Context(), a.Tool, args)
	if err != nil || got.Message == nil {
		t.Fatalf("%s: got %+v, %v", a.Tool, got, err)
	}
	if got.Message.Error != nil {
		return got.Message.Error.Message, gatewaytest.Record(t, got)
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(got.Message.Result, &result); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, block := range result.Content {
		text.WriteString(block.Text)
	}
	if gatewaytest.RecordIn(got) == nil {
		if !bytes.Equal(got.Message.Result, a.Result) {
			t.Errorf("%s: got %s, want the bytes unchanged", a.Tool, got.Message.Result)
		}
		return text.String(), nil
	}
	return text.String(), gatewaytest.Record(t, got)
}

// passesSuccess reports whether a text in a successful result passes unchanged.
func passesSuccess(t *testing.T, client *testkit.Client, srv *testkit.Server, text string) bool {
	t.Helper()
	result := protocol.TextResult(text)
	srv.Always(testkit.Echo, faults.Result("", result))
	got, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil || got.Message == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	return string(got.Message.Result) == result
}

// No secret is in the recorded answers: the masker finds nothing to hide but addresses and stack traces.
func TestRealAnswersHaveNoSecrets(t *testing.T) {
	t.Parallel()
	failures, successes, err := recordedAnswers()
	if err != nil {
		t.Fatal(err)
	}
	texts := successes
	for _, a := range failures {
		texts = append(texts, a.Bare())
	}
	masker := redact.New(redact.Secrets)
	for _, text := range texts {
		if masked := masker.String(text); masked != text && strings.Contains(masked, "[credential]") {
			t.Errorf("a secret: %.300q", text)
		}
	}
}
