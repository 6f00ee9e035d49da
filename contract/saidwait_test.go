package contract_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// What a model reads is the text alone in most agents: it states a wait that is known, whatever else it says, and whether anything
// was done. Where nobody knows the effect, nothing says that the call may be repeated.
func TestTextStatesTheWait(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range recourse.Kinds() {
				for _, effect := range []recourse.Effect{"", recourse.EffectNone, recourse.EffectUnknown, recourse.EffectApplied} {
					for _, basis := range bases(effect) {
						checkTexts(t, c, recourse.New(kind, "It went wrong.").WithRetryAfter(7*time.Second).WithEffect(effect).WithEffectBasis(basis))
					}
				}
			}
		})
	}
}

// checkTexts checks the texts of a failure: of tools of which somebody says what they do and of others, with and without a verify call.
func checkTexts(t *testing.T, c *contract.Contract, e *recourse.Error) {
	t.Helper()
	for _, assumed := range []bool{false, true} {
		for _, verify := range []*recourse.Verify{nil, {Tool: "order_get", Args: recourse.Args{}.With("reference", "A-17"), LookAt: "status"}} {
			e := e.WithOrigin(recourse.OriginServer).With(func(r *recourse.Error) { r.Verify = verify })
			call := contracttest.ToolCall()
			call.Relay.Assumed = assumed
			checkText(t, c.Write(e, &call))
			if e.Kind.Class() == recourse.ClassAllowance { // a server may say that it passes
				checkText(t, c.Write(e.WithRetry(recourse.RetrySameCall), &call))
			}
		}
	}
}

// bases are those on which an effect may rest.
func bases(effect recourse.Effect) []recourse.Basis {
	if effect == recourse.EffectNone {
		return []recourse.Basis{"", recourse.BasisKnown, recourse.BasisProfile, recourse.BasisStated}
	}
	return []recourse.Basis{""}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Whatever structure a server sends with its failure, it contradicts nothing of what the contract says, and it is not lost.
func TestStructureOfTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		for _, structure := range []string{`{"retryable":true,"own":"seven"}`, `{"error":{"code":"QUOTA","retryable":true,"retryAfterMs":7000},"own":"seven"}`, `{"own":"seven"}`} {
			for _, schema := range []bool{false, true} {
				original := []byte(`{"content":[{"type":"text","text":"Connection lost."}],"structuredContent":` + structure + `,"isError":true}`)
				reading, ok := (&contract.Reader{Contracts: contract.Builtin().All()}).Result(original)
				if !ok {
					t.Fatal("not read as a failure")
				}
				call := contracttest.ToolCall()
				call.OutputSchema = schema
				call.Relay.Original, call.Relay.OriginalContract = original, reading.Contract
				a := c.Write(reading.Error().WithEffect(recourse.EffectUnknown), &call)
				whole := a.Result
				var result struct {
					Structured json.RawMessage `json:"structuredContent"`
				}
				if err := json.Unmarshal(whole, &result); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(result.Structured), "seven") || strings.Contains(string(result.Structured), `"retryable":true`) {
					t.Errorf("%s: the structure is %s", c.Name, result.Structured)
				}
				if !strings.Contains(string(whole), `"own":"seven"`) {
					t.Errorf("%s: the server's structure is lost: %s", c.Name, whole)
				}
			}
		}
	}
}

func checkText(t *testing.T, a contract.Answer) {
	t.Helper()
	e := a.Record
	if a.Asks || a.Surface == contract.SurfaceHTTP || a.Surface == contract.SurfaceRPC {
		return
	}
	var texts []string
	if a.Surface == contract.SurfaceResult {
		var result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Structured json.RawMessage `json:"structuredContent"`
		}
		if err := json.Unmarshal(a.Result, &result); err != nil {
			t.Fatal(err)
		}
		for _, b := range result.Content {
			texts = append(texts, b.Text)
		}
		if result.Structured != nil && !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, firstLine(e.Message)) }) {
			t.Errorf("%s, effect %s: the structure says what no text does: %s", e.Kind, e.Effect, a.Result)
		}
	}
	text := strings.Join(texts, "\n")
	seconds := strconv.Itoa(int(e.RetryAfter.Seconds()))
	advice := e.RetryAdvice()
	matters := e.Contract == "recourse" || advice == recourse.RetrySameCall || advice != recourse.RetryNever && e.Effect == recourse.EffectUnknown
	if e.RetryAfter > 0 && matters && !strings.Contains(text, recourse.FormatWait(e.RetryAfter)) && !regexp.MustCompile(`\b`+seconds+`\b`).MatchString(text) {
		t.Errorf("%s, effect %s: no wait in %s", e.Kind, e.Effect, text)
	}
	checkEffect(t, e, text)
	says := slices.ContainsFunc([]string{`"retryable":true`, `"retryable": true`, "Safe to repeat"}, func(word string) bool {
		return strings.Contains(string(a.Result)+string(a.Data)+text, word)
	})
	if e.Effect == recourse.EffectUnknown && says {
		t.Errorf("%s: says that it may be repeated: %s", e.Kind, text)
	}
}

// checkEffect checks that a text says whether anything was done, where that is known: in the contract of our own. The documents of
// the others have no words for it.
func checkEffect(t *testing.T, e *recourse.Error, text string) {
	t.Helper()
	words := map[recourse.Effect][]string{
		recourse.EffectNone:    {"Nothing was done.", "Nothing was changed.", "Safe to repeat"},
		recourse.EffectApplied: {"The call took effect."},
	}[e.Effect]
	silent := e.Kind == recourse.KindPartial || e.Kind == recourse.KindUnknown && e.EffectBasis == "" // the items say it; nobody knows it
	if e.Contract != "recourse" || words == nil || silent {
		return
	}
	said := slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	if said == (e.EffectBasis == recourse.BasisStated) {
		t.Errorf("%s, effect %s by %q: %s", e.Kind, e.Effect, e.EffectBasis, text)
	}
}
