package contract_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
)

// One failure has one verdict: its boolean, its advice, its texts and its record agree on whether the same call may be
// made again, and when.
func TestOneVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				call := verdictCalls().Draw(t, "call")
				a := c.Write(verdictRecords().Draw(t, "record"), &call)
				agrees(t, a)
				if a.Surface != contract.SurfaceResult {
					return
				}
				// What another gateway with the same contract makes of it says the same.
				reader := contract.Reader{Contracts: []*contract.Contract{c}, Own: c, Now: call.Now}
				reading, ok := reader.Result(a.Result)
				if !ok || reading.Error() == nil {
					t.Fatalf("not read: %s", a.Result)
				}
				call.Relay.Original, call.Relay.OriginalContract = a.Result, reading.Contract
				agrees(t, c.Write(reading.Error().WithEffect(a.Record.Effect), &call))
			})
		})
	}
}

// agrees checks that an answer does not contradict its record.
func agrees(t *rapid.T, a contract.Answer) {
	record := a.Record
	again := record.RetryAdvice() == recourse.RetrySameCall
	if doubt := record.Effect == recourse.EffectUnknown || record.Effect == recourse.EffectApplied; doubt && again {
		t.Errorf("effect %s, and %s", record.Effect, record.RetryAdvice())
	}
	body := slices.Concat(a.Result, []byte(a.Message), a.Data, a.Body)
	for _, said := range booleans(a) {
		if said != again {
			t.Errorf("retryable %t, and %s: %s", said, record.RetryAdvice(), body)
		}
	}
	texts := strings.Join(append(record.Hints, string(body)), "\n")
	for _, claim := range claims {
		if strings.Contains(texts, claim.text) && slices.Contains(claim.against, record.RetryAdvice()) && !strings.Contains(texts, "if it only reads") {
			t.Errorf("%q, and %s: %s", claim.text, record.RetryAdvice(), body)
		}
	}
	tooSoon := record.Effect == recourse.EffectUnknown || !passes(record)
	if tooSoon && !strings.Contains(record.Message, "Try again in") && strings.Contains(texts, "Try again in") {
		t.Errorf("%s, effect %q, and told when to try again: %s", record.RetryAdvice(), record.Effect, body)
	}
	if setup := record.RetryAdvice() == recourse.RetryAfterSetup; setup && a.Surface == contract.SurfaceResult && !tellsAPerson(texts) {
		t.Errorf("%s, and no person is told: %s", record.RetryAdvice(), body)
	}
	if wait := record.RetryAfter; wait > 0 && a.Surface == contract.SurfaceResult && !states(record, texts) {
		t.Errorf("the wait of %s is not stated: %s", wait, body)
	}
}

// claims are what texts say about the next call, and the advice that contradicts it.
var claims = []struct {
	text    string
	against []recourse.Retry
}{
	{"Safe to repeat", butFor(recourse.RetrySameCall)},
	{"make the same call again", butFor(recourse.RetrySameCall)},
	{"Back off", butFor(recourse.RetrySameCall)},
	{"growing waits", butFor(recourse.RetrySameCall)},
	{"Retry shortly", butFor(recourse.RetrySameCall)},
	{"uggestions: Retry", butFor(recourse.RetrySameCall)},
	{"Do not re", []recourse.Retry{recourse.RetrySameCall}},
	{"Look up", []recourse.Retry{recourse.RetrySameCall, recourse.RetryNever}},
	{"efore calling again", []recourse.Retry{recourse.RetrySameCall, recourse.RetryNever}},
	{"efore repeating it", []recourse.Retry{recourse.RetrySameCall, recourse.RetryNever}},
	{"then call again", []recourse.Retry{recourse.RetrySameCall, recourse.RetryNever}},
	{"then retry", []recourse.Retry{recourse.RetrySameCall, recourse.RetryNever}},
	{"Re-authenticate", []recourse.Retry{recourse.RetrySameCall, recourse.RetryNever, recourse.RetryAfterSetup}},
	{"erson has to", butFor(recourse.RetryAfterSetup)},
}

func butFor(one recourse.Retry) (others []recourse.Retry) {
	for _, r := range contractform.Retries {
		if recourse.Retry(r) != one {
			others = append(others, recourse.Retry(r))
		}
	}
	return others
}

func tellsAPerson(texts string) bool {
	return slices.ContainsFunc([]string{"erson has to", "hoever runs"}, func(said string) bool { return strings.Contains(texts, said) })
}

// states reports whether a result says how long to wait, where the contract has a place for that.
func states(e *recourse.Error, texts string) bool {
	said := "in " + strconv.Itoa(int(e.RetryAfter.Seconds())) + " s."
	switch again := e.RetryAdvice() == recourse.RetrySameCall; e.Contract {
	case "fieldmcp", "commerce":
		said = `retryAfter\":`
	case "patterns":
		if !slices.Contains([]string{"CLIENT_ERROR", "SERVER_ERROR", "NETWORK_ERROR"}, e.Code) || e.Effect == recourse.EffectUnknown || !passes(e) {
			return true
		}
	case "recourse":
		said = `"afterMs":`
	default:
		if !again {
			return true
		}
		if e.Contract != "terra" {
			said = recourse.FormatWait(e.RetryAfter)
		}
	}
	return strings.Contains(texts, said) || strings.Contains(texts, "retry after 9000ms") // the server's own words
}

// passes reports whether a failure passes with time: so does a limit, also where a contract leaves the next call to the caller.
func passes(e *recourse.Error) bool {
	return e.RetryAdvice() == recourse.RetrySameCall || e.Kind.Retry() == recourse.RetrySameCall || e.Kind.Class() == recourse.ClassAllowance ||
		e.Kind == recourse.KindClientError // of which nothing is known but the wait
}

// booleans returns what the wire says about repeating the call, in every place.
func booleans(a contract.Answer) (list []bool) {
	type object struct {
		Retryable *bool `json:"retryable"`
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured object `json:"structuredContent"`
		Error      object `json:"error"`
	}
	_ = json.Unmarshal(a.Result, &result)
	objects := []object{result.Structured, result.Error}
	for _, block := range result.Content {
		var o object
		_ = json.Unmarshal([]byte(block.Text), &o)
		objects = append(objects, o)
	}
	var data struct {
		Error object `json:"error"`
	}
	_ = json.Unmarshal(a.Data, &data)
	for _, o := range append(objects, data.Error) {
		if o.Retryable != nil {
			list = append(list, *o.Retryable)
		}
	}
	return list
}

func verdictRecords() *rapid.Generator[*recourse.Error] {
	return rapid.Custom(func(t *rapid.T) *recourse.Error {
		e := recourse.New(rapid.SampledFrom(recourse.Kinds()).Draw(t, "kind"), rapid.SampledFrom([]string{"", "It failed."}).Draw(t, "message"))
		e.Origin = recourse.Origin(rapid.SampledFrom(append([]string{""}, contractform.Origins...)).Draw(t, "origin"))
		e.Effect = recourse.Effect(rapid.SampledFrom(append([]string{""}, contractform.Effects...)).Draw(t, "effect"))
		if e.Effect == recourse.EffectNone {
			e.EffectBasis = recourse.Basis(rapid.SampledFrom(contractform.Bases).Draw(t, "basis"))
		}
		e.Retry = recourse.Retry(rapid.SampledFrom(append([]string{"", ""}, contractform.Retries...)).Draw(t, "retry"))
		e.RetryAfter = time.Duration(rapid.SampledFrom([]int{0, 1, 12, 3600}).Draw(t, "wait")) * time.Second
		e.Upstream.Status = rapid.SampledFrom([]int{0, 0, 400, 401, 403, 404, 408, 409, 422, 429, 500, 501, 502, 503, 504}).Draw(t, "status")
		e.Upstream.Code = rapid.SampledFrom([]string{"", "", "media_failed", "not_found", "ORDER_NOT_FOUND"}).Draw(t, "code")
		e.Resource.Type = rapid.SampledFrom([]string{"", "order", "field", "study"}).Draw(t, "resource")
		return e
	})
}

func verdictCalls() *rapid.Generator[contract.Call] {
	return rapid.Custom(func(t *rapid.T) contract.Call {
		return contract.Call{
			Method: rapid.SampledFrom([]string{"tools/call", "tools/call", "tools/list"}).Draw(t, "method"),
			Tool:   rapid.SampledFrom([]string{"create-sales-order", "study_create", "get-orders", "search_patterns"}).Draw(t, "tool"),
			At:     rapid.SampledFrom([]contract.At{"", contract.AtSession, contract.AtArguments, contract.AtUpstream, contract.AtUpstreamMisconfigured}).Draw(t, "at"),
			HTTP:   rapid.Bool().Draw(t, "http"), Status: rapid.SampledFrom([]int{0, 0, 0, http.StatusBadRequest}).Draw(t, "status"),
			FormatArgument: true, Arguments: json.RawMessage(`{"format":"both"}`), ResultType: rapid.Bool().Draw(t, "modern"),
			Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
		}
	})
}
