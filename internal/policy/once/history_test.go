package once_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// What a caller was told of a write, or what the server says at the end.
type told int

const (
	toldDone    told = iota // it has happened, with that number
	toldKnown               // it has happened
	toldUnknown             // nobody knows
	toldNothing             // it has not, by this call
	toldEffects             // by the server: all that have
)

type seenCall struct {
	told    told
	number  int   // of the effect that the answer is about
	effects []int // by toldEffects
}

// onceModel is a server at which a write happens at most once: a state is the number of the effect, 0 if there is none, or
// someEffect if there is one that nobody has seen yet.
var onceModel = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[any][]porcupine.Operation{}
		for _, op := range history {
			by[op.Input] = append(by[op.Input], op)
		}
		var all [][]porcupine.Operation
		for _, ops := range by {
			all = append(all, ops)
		}
		return all
	},
	Init: func() []any { return []any{0} },
	Step: func(state, _, output any) []any {
		now, seen := state.(int), output.(seenCall) //nolint:errcheck // they are ours
		switch seen.told {
		case toldDone:
			if now == 0 || now == someEffect || now == seen.number {
				return []any{seen.number}
			}
		case toldKnown:
			if now == 0 {
				return []any{someEffect}
			}
			return []any{now}
		case toldUnknown:
			if now == 0 {
				return []any{0, someEffect}
			}
			return []any{now}
		case toldNothing:
			return []any{now}
		case toldEffects:
			if len(seen.effects) == 0 && now == 0 || len(seen.effects) == 1 && (now == someEffect || now == seen.effects[0]) {
				return []any{now}
			}
		}
		return nil
	},
}).ToModel()

const someEffect = -1

// The checker finds a double effect, an answer about another effect, and a success without any.
func TestOnceModelSees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outputs []seenCall
		want    bool
	}{
		"once":             {[]seenCall{{told: toldUnknown}, {told: toldDone, number: 7}, {told: toldDone, number: 7}, {told: toldEffects, effects: []int{7}}}, true},
		"open":             {[]seenCall{{told: toldUnknown}, {told: toldEffects, effects: []int{7}}}, true},
		"refused":          {[]seenCall{{told: toldNothing}, {told: toldEffects}}, true},
		"a double effect":  {[]seenCall{{told: toldUnknown}, {told: toldDone, number: 8}, {told: toldEffects, effects: []int{7, 8}}}, false},
		"a wrong replay":   {[]seenCall{{told: toldDone, number: 7}, {told: toldDone, number: 8}}, false},
		"a wrong success":  {[]seenCall{{told: toldDone, number: 7}, {told: toldEffects}}, false},
		"a wrong no":       {[]seenCall{{told: toldNothing}, {told: toldEffects, effects: []int{7}}}, false},
		"a foreign replay": {[]seenCall{{told: toldDone, number: 9}, {told: toldEffects, effects: []int{7}}}, false},
	} {
		var history []porcupine.Operation
		for i, output := range c.outputs {
			history = append(history, porcupine.Operation{Input: "k", Output: output, Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		if got := porcupine.CheckOperations(onceModel, history); got != c.want {
			t.Errorf("%s: accepted %t", name, got)
		}
	}
}

// A bank has a tool whose every effect has a number.
type bank struct {
	mu      sync.Mutex
	next    int
	effects map[string][]int
	luck    *rand.Rand
}

// pay has its effect, and may lose the answer: before that or after it.

func (b *bank) pay(arguments json.RawMessage) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	loses := b.luck.IntN(6)
	if loses == 0 {
		panic(http.ErrAbortHandler)
	}
	b.next++
	of := referenceOf(arguments)
	b.effects[of] = append(b.effects[of], b.next)
	if loses == 1 {
		panic(http.ErrAbortHandler)
	}
	return numbered(of, b.next)
}

func (b *bank) find(arguments json.RawMessage) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := referenceOf(arguments)
	if len(b.effects[of]) == 0 {
		return `{"content":[{"type":"text","text":"{}"}]}`
	}
	return numbered(of, b.effects[of][0])
}

func numbered(reference string, n int) string {
	text, _ := json.Marshal(fmt.Sprintf(`{"reference":%q,"number":%d}`, reference, n)) // of a text: it cannot fail
	return `{"content":[{"type":"text","text":` + string(text) + `}]}`
}

func referenceOf(arguments json.RawMessage) string {
	var args struct {
		Reference string `json:"reference"`
	}
	_ = json.Unmarshal(arguments, &args) // an unreadable reference counts as empty
	return args.Reference
}

// Histories of several callers, at two gateways on one database, with answers that are lost and gateways that die before and after
// any of their writes, are those of a server at which each write happens at most once.
func TestOnceHistories(t *testing.T) {
	t.Parallel()
	onceHistories(t, 1)
}

func TestLongOnceHistories(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	onceHistories(t, 20)
}

func onceHistories(t *testing.T, rounds int) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for round := range rounds {
			_, address := onceStore(t)
			onceHistory(t, address, uint64(round))
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		address := service.Postgres(t)
		for round := range rounds {
			onceHistory(t, address, uint64(round))
		}
	})
}

func onceHistory(t *testing.T, address string, seed uint64) {
	t.Helper()
	const replicas, callers, references, calls = 2, 6, 4, 8
	b := &bank{effects: map[string][]int{}, luck: rand.New(rand.NewPCG(seed, 0))}
	srv := testkit.NewServer(t, testkit.WithTools(
		testkit.Tool{Name: "pay", Result: b.pay}, testkit.Tool{Name: "find", Result: b.find}))
	chance := rand.New(rand.NewPCG(seed, 1))
	var fronts []*testkit.Client
	for range replicas {
		s := gatewaytest.OpenStore(t, address)
		fronts = append(fronts, bankFront(t, srv, &dyingStore{Store: s.Once(), live: 1 << 40}),
			bankFront(t, srv, &dyingStore{Store: s.Once(), live: 1 + chance.Int64N(12)})) // dies on its way
	}
	var history []porcupine.Operation
	var mu sync.Mutex
	began := time.Now()
	record := func(op porcupine.Operation) {
		mu.Lock()
		defer mu.Unlock()
		history = append(history, op)
	}
	var all sync.WaitGroup
	for caller := range callers {
		luck := rand.New(rand.NewPCG(seed, uint64(caller)+2))
		all.Go(func() {
			for range calls {
				of := fmt.Sprintf("r-%d-%d", seed, luck.IntN(references))
				call := time.Since(began).Nanoseconds()
				output := payment(t, fronts[luck.IntN(len(fronts))], of)
				record(porcupine.Operation{ClientId: caller, Input: of, Output: output, Call: call, Return: time.Since(began).Nanoseconds()})
			}
		})
	}
	all.Wait()
	at := time.Since(began).Nanoseconds()
	for i := range references {
		of := fmt.Sprintf("r-%d-%d", seed, i)
		record(porcupine.Operation{Input: of, Output: seenCall{told: toldEffects, effects: b.effects[of]}, Call: at, Return: at + 1})
	}
	if !porcupine.CheckOperations(onceModel, history) {
		t.Errorf("seed %d: %+v", seed, history)
	}
	counted := map[told]int{}
	for _, op := range history {
		if output, ok := op.Output.(seenCall); ok {
			counted[output.told]++
		}
	}
	t.Logf("seed %d: done %d, known %d, unknown %d, nothing %d", seed, counted[toldDone], counted[toldKnown], counted[toldUnknown], counted[toldNothing])
}

func bankFront(t *testing.T, srv *testkit.Server, s once.Store) *testkit.Client {
	t.Helper()
	g, log := gatewaytest.NewReaching(t, gateway.Reach{Once: s, OnceTimes: once.Times{Lease: 2 * time.Second, Poll: 20 * time.Millisecond}, Pause: 1},
		"store: sqlite:unused.db\nsession_keys: ["+strings.Repeat("k", 32)+"]\nservers:\n  farm:\n    url: "+srv.URL()+"\n"+
			"    tools: {find: {read_only: true}, pay: {once: {key: /reference, grace: 0s}, "+
			"verify: {tool: find, from: {reference: /reference}, landed: {path: /reference, exists: true}}}}\n")
	f := &gatewaytest.Front{URL: gatewaytest.Open(t, g, false) + gatewaytest.Path, Gateway: g, Log: log}
	return f.Client(t, testkit.Modern)
}

// payment makes a payment, and returns what its caller is told.
func payment(t *testing.T, c *testkit.Client, of string) seenCall {
	t.Helper()
	a, err := c.Call(t.Context(), "pay", fmt.Sprintf(`{"reference":%q}`, of))
	if err != nil || a.Message == nil {
		return seenCall{told: toldUnknown}
	}
	if a.Succeeded() {
		var answer struct {
			Reference string `json:"reference"`
			Number    int    `json:"number"`
		}
		if err := json.Unmarshal([]byte(a.Result(t).Text()), &answer); err != nil || answer.Reference != of {
			t.Errorf("got %s for %s", a.Body, of)
		}
		return seenCall{told: toldDone, number: answer.Number}
	}
	switch gatewaytest.Record(t, a).Effect {
	case recourse.EffectNone:
		return seenCall{told: toldNothing}
	case recourse.EffectApplied:
		return seenCall{told: toldKnown}
	default:
		return seenCall{told: toldUnknown}
	}
}
