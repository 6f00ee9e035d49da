package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse/contract"
)

// options say what is played.
type options struct {
	seed  uint64
	tasks int // for each pair of agent and world
}

// A quadrant is a type of fault: explicit or silent, passing or lasting.
type quadrant struct {
	silent, lasting bool
}

var quadrants = []quadrant{{false, false}, {false, true}, {true, false}, {true, true}}

// A share is a part of a whole: 3 of 4.
type share struct{ part, all int }

func (s share) counting(is bool) share {
	if is {
		return share{s.part + 1, s.all + 1}
	}
	return share{s.part, s.all + 1}
}

func (s share) plus(t share) share { return share{s.part + t.part, s.all + t.all} }

// A tally counts the results of one agent in one world.
type tally struct {
	tasks      int
	success    int // the agent says that the goal is met
	safe       int // and it is, exactly once
	duplicates int
	wrong      int // claims that are not true
	attempts   int
	inOutage   share         // attempts and tasks that began in an outage
	needless   time.Duration // time waited in tasks that did not end in safe success
	took       time.Duration
	met        [4]share // by quadrant: recovered or, of a fault that lasts, admitted
}

// An agentInWorld is one agent in one world.
type agentInWorld struct {
	world   *world
	agent   agent
	gateway bool
	once    bool // with `once` for the tool that writes
}

// A result has the tally of every pair.
type result struct {
	options options
	worlds  []*world
	tallies map[orderKey]*tally
	rates   []*tally // of the agent that obeys, in an outage, by rates
}

type orderKey struct {
	world, agent  string
	gateway, once bool
}

// onceAgents are those that are played with `once` as well: the ones that repeat what they know nothing of.
var onceAgents = agents[:3]

// run plays every agent in every world, without and with the gateway.
func run(ctx context.Context, o options) (*result, error) {
	worlds, err := allWorlds()
	if err != nil {
		return nil, err
	}
	r := &result{options: o, worlds: worlds, tallies: map[orderKey]*tally{}}
	pairs := make(chan agentInWorld)
	var all sync.WaitGroup
	var mu sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for p := range pairs {
				t := p.play(ctx, o)
				mu.Lock()
				r.tallies[orderKey{p.world.Name, p.agent.name, p.gateway, p.once}] = t
				mu.Unlock()
			}
		})
	}
	for _, w := range worlds {
		for _, a := range agentsIn(w) {
			for _, gateway := range []bool{false, true} {
				pairs <- agentInWorld{w, a, gateway, false}
			}
		}
		for _, a := range onceAgents {
			pairs <- agentInWorld{w, a, true, true}
		}
	}
	close(pairs)
	all.Wait()
	r.rates = r.playRates(ctx)
	return r, ctx.Err()
}

// rates are the times between two tasks in an outage.
var rates = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 20 * time.Second}

// ratesTime limits the time that is played for each rate: three outages.
const ratesTime = 3*time.Hour + time.Minute

// playRates plays the agent that obeys in the outage, behind the gateway, once for each rate.
func (r *result) playRates(ctx context.Context) []*tally {
	at := slices.IndexFunc(r.worlds, func(w *world) bool { return w.Name == worldOutage })
	tallies := make([]*tally, len(rates))
	for i, every := range rates {
		w := *r.worlds[at]
		w.Every = every
		tasks := min(r.options.tasks, int(ratesTime/every))
		tallies[i] = agentInWorld{world: &w, agent: agents[0], gateway: true}.play(ctx, options{seed: r.options.seed, tasks: tasks})
	}
	return tallies
}

// play lets the agent work on all tasks, or until ctx ends.
func (p agentInWorld) play(ctx context.Context, o options) *tally {
	random := rand.New(rand.NewPCG(o.seed, 1<<63)).Float64
	c := contract.MustBuiltin("commerce")
	shop := &shop{world: p.world, clock: &clock{now: epoch}, created: map[string]int{}, spans: map[*trouble]limitSpan{}}
	s := &dealing{shop: shop, clock: shop.clock}
	if p.gateway {
		s.gateway = newGateway(shop, c, random)
	}
	if p.once {
		s.gateway.once = map[string]*sentOnce{}
	}
	work := p.agent.start(s, c, random)
	var sum tally
	for number := 0; number < o.tasks && ctx.Err() == nil; number++ {
		shop.clock.wake(p.world.comes(number))
		shop.clock.start(newTask(p.world, o.seed, number, shop.clock.now), func(t *task) { sum.add(shop, t, work(t)) })
	}
	if ctx.Err() == nil {
		shop.clock.wake(never)
	}
	shop.clock.stop()
	return &sum
}

// add counts a task that has ended with a claim.
func (sum *tally) add(s *shop, t *task, said claim) {
	created := s.created[t.id]
	isTrue := t.isTrue(said, created)
	safe := said.done && isTrue && created <= 1
	sum.tasks++
	sum.attempts += t.attempts
	sum.took += s.clock.now.Sub(t.began)
	sum.duplicates += max(created-1, 0)
	if said.done {
		sum.success++
	}
	if !isTrue {
		sum.wrong++
	}
	if safe {
		sum.safe++
	} else {
		sum.needless += t.slept
	}
	if f, _ := s.world.outage(t.began); f != nil {
		sum.inOutage = sum.inOutage.plus(share{t.attempts, 1})
	}
	if t.faults == 0 {
		return
	}
	lasting := !t.recoverable()
	well := safe
	if lasting {
		well = isTrue && created <= 1
	}
	for i, q := range quadrants {
		if q == (quadrant{t.silent, lasting}) {
			sum.met[i] = sum.met[i].counting(well)
		}
	}
}
