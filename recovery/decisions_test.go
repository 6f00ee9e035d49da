package recovery_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

// leastDecisions is the minimum number of decisions in the kit for a contract.
const leastDecisions = 60

// A kitDecision is a line of the kit's decisions: the situation and the decision.
type kitDecision struct {
	Name     string          `json:"name"`
	Failure  json.RawMessage `json:"failure"` // the record
	Nature   string          `json:"nature"`
	Attempt  int             `json:"attempt"`
	LeftMs   int64           `json:"leftMs"`
	Random   float64         `json:"random"`
	Decision kitVerdict      `json:"decision"`
}

type kitVerdict struct {
	Repeat bool             `json:"repeat"`
	WaitMs int64            `json:"waitMs"`
	Verify *recourse.Verify `json:"verify,omitempty"`
	Reason string           `json:"reason"`
}

// The kit has the decisions of each built-in contract, and clients in other languages must decide the same.
func TestKitDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			k := &decisions{t: t, c: c}
			k.codes()
			k.kinds()
			k.statuses()
			k.waits()
			k.effects()
			k.left()
			if k.lines < leastDecisions {
				t.Errorf("%d decisions", k.lines)
			}
			contracttest.Golden(t, filepath.Join("..", "contract", "testdata", "kit", c.Name+".decisions.jsonl"), k.file.String())
		})
	}
}

// decisions collects the decisions of a contract.
type decisions struct {
	t     *testing.T
	c     *contract.Contract
	file  bytes.Buffer
	lines int
}

// A situation is what a decision depends on besides the failure. The zero value is the first attempt of a write, with
// two minutes left.
type situation struct {
	nature  retry.Nature
	attempt int
	left    time.Duration
	random  float64
}

// add adds the decision about a record, given as JSON.
func (k *decisions) add(name, record string, in situation) {
	k.t.Helper()
	in.attempt = max(in.attempt, 1)
	if in.left == 0 {
		in.left = 2 * time.Minute
	}
	e := new(recourse.Error)
	if err := e.UnmarshalJSON([]byte(record)); err != nil {
		k.t.Fatalf("%v: %s", err, record)
	}
	d := recovery.Decide(k.c, e, in.nature, in.attempt, in.left, func() float64 { return in.random })
	line, err := internaljson.Marshal(kitDecision{
		Name: name, Failure: json.RawMessage(record), Nature: in.nature.String(), Attempt: in.attempt,
		LeftMs: in.left.Milliseconds(), Random: in.random,
		Decision: kitVerdict{Repeat: d.Repeat, WaitMs: d.Wait.Milliseconds(), Verify: d.Verify, Reason: d.Reason},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.file.Write(line)
	k.file.WriteByte('\n')
	k.lines++
}

// codes decides about each code of the contract, as made by its constructor.
func (k *decisions) codes() {
	for i, listed := range contractform.Of(k.c).Codes {
		code := listed.Code
		if listed.Open {
			code = "a_word_of_its_own"
		}
		for _, nature := range []retry.Nature{retry.Writes, retry.Reads} {
			record := fmt.Sprintf(`{"v":1,"kind":%q,"code":%q,"contract":%q}`, listed.Kind, code, k.c.Name)
			k.add(fmt.Sprintf("code/%s/%s", code, nature), record, situation{nature: nature, random: []float64{0, 0.5, 0.9999}[i%3]})
		}
	}
}

// kinds decides about each kind without a code, since any server may send one.
func (k *decisions) kinds() {
	natures := []retry.Nature{retry.Writes, retry.Idempotent, retry.Reads}
	for i, kind := range recourse.Kinds() {
		in := situation{nature: natures[i%3], attempt: i%3 + 1, random: 0.5}
		k.add("kind/"+string(kind), fmt.Sprintf(`{"v":1,"kind":%q,"origin":"provider","upstream":{"status":503}}`, kind), in)
	}
}

// statuses decides about the HTTP statuses of a provider and of the server.
func (k *decisions) statuses() {
	for _, status := range []int{400, 401, 402, 403, 404, 408, 409, 418, 422, 429, 500, 501, 502, 503, 504} {
		for _, origin := range []recourse.Origin{recourse.OriginServer, recourse.OriginProvider} {
			kind := recourse.FromStatus("", status).Kind
			k.add(fmt.Sprintf("status/%d/%s", status, origin),
				fmt.Sprintf(`{"v":1,"kind":%q,"origin":%q,"upstream":{"status":%d}}`, kind, origin, status), situation{nature: retry.Reads, random: 0.5})
		}
	}
}

// waits decides with and without a stated wait, in each attempt.
func (k *decisions) waits() {
	const day = 24 * 60 * 60 * 1000
	for _, kind := range []recourse.Kind{recourse.KindRateLimited, recourse.KindUnavailable} {
		for _, afterMs := range []int{0, 20, 7000, -5000, 31 * day, 100_000 * day, math.MaxInt64} {
			for attempt := 1; attempt <= 5; attempt++ {
				k.add(fmt.Sprintf("wait/%s/%d/%d", kind, afterMs, attempt),
					fmt.Sprintf(`{"v":1,"kind":%q,"retry":"same_call","afterMs":%d}`, kind, afterMs),
					situation{nature: retry.Reads, attempt: attempt, random: []float64{0, 0.5, 0.9999}[attempt%3], left: 45 * time.Minute})
			}
		}
	}
	for _, random := range []float64{0, 0.25, 0.5, 0.999, 0.9999999} {
		k.add(fmt.Sprint("random/", random), `{"v":1,"kind":"unavailable","retry":"same_call","effect":"none"}`, situation{attempt: 2, random: random})
	}
}

// effects decides with each effect, stated or not, for tools of each nature.
func (k *decisions) effects() {
	for _, nature := range []retry.Nature{retry.Writes, retry.Idempotent, retry.Reads} {
		for _, effect := range []string{"unsaid", "none", "unknown", "applied"} {
			for _, advice := range []string{"unsaid", "same_call", "re_read"} {
				record := fmt.Sprintf(`{"v":1,"kind":"timeout","retry":%q,"effect":%q,"verify":{"tool":"order_get","args":{"reference":"A-17"}}}`, advice, effect)
				record = strings.NewReplacer(`"retry":"unsaid",`, "", `"effect":"unsaid",`, "").Replace(record)
				k.add(fmt.Sprintf("effect/%s/%s/%s", nature, effect, advice), record, situation{nature: nature, random: 0.5})
			}
		}
	}
}

// left decides with too little time left, and with just enough.
func (k *decisions) left() {
	for _, afterMs := range []int{0, 12_000, 90_000, 7_200_000} {
		for _, left := range []time.Duration{-time.Second, time.Millisecond, 999 * time.Millisecond, 12 * time.Second, 12001 * time.Millisecond, 3 * time.Hour} {
			k.add(fmt.Sprintf("left/%d/%s", afterMs, left), fmt.Sprintf(`{"v":1,"kind":"unavailable","retry":"same_call","afterMs":%d}`, afterMs),
				situation{nature: retry.Idempotent, left: left})
		}
	}
}
