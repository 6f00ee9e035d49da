// Package breaker holds calls back from a server that does not answer.
//
//	closed:   calls pass.           Too large a share of the calls in a window fails  --> open
//	open:     calls are refused.    After a while                                     --> probing
//	probing:  one call may pass.    It is answered                                    --> closed
//	                                It fails                                          --> open, for twice as long
//
// A [Breaker] has such a circuit for the server and one for each of its tools. [Circuit] is that state machine
// alone, for callers with their own rule for opening it.
//
// It knows neither errors nor the protocol: the caller reports how each call ended.
package breaker

import (
	"maps"
	"sync"
	"time"
)

// Settings say when a [Breaker] opens and for how long.
type Settings struct {
	FailureRate float64       // share of failed calls in the window at which a circuit opens; 1 at most
	Window      time.Duration // the time over which calls are counted
	MinCalls    int           // in the window; with fewer, no circuit opens
	OpenFor     time.Duration // the first time; it doubles with each opening in a row
	MaxOpen     time.Duration // up to this
}

// A Sign is what a call shows about a server.
type Sign uint8

// The outcomes of a call.
const (
	Nothing  Sign = iota // nothing: it was cancelled, or never sent
	Answered             // the server works, whatever it said
	Failed               // it did not answer
	TimedOut             // no answer came in time: that may be due to the tool alone
	Missed               // the server could not be reached: that says nothing about the tool
)

const (
	// maxTools limits how many tools have a circuit of their own.
	maxTools = 2000
	// maxStated limits how long a server's own statement keeps a circuit open.
	maxStated = time.Hour
	// probeWait is how long callers are told to wait while another call is probing.
	probeWait = time.Second
)

// A Breaker has the circuits of one server. It is safe for concurrent use.
type Breaker struct {
	mu     sync.Mutex
	rule   Settings
	server lane
	tools  map[string]*lane
}

// A lane is a circuit with the counts that open it.
type lane struct {
	Circuit

	window  window
	stage   uint64 // changes with the circuit's state: a call that began in another stage is not counted
	refused int64  // total calls
}

// New returns a closed breaker.
func New(rule Settings) *Breaker { return &Breaker{rule: rule, tools: map[string]*lane{}} }

// Set changes the settings. Open circuits stay open.
func (b *Breaker) Set(rule Settings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rule.Window != b.rule.Window { // the old counts are in slots of another length
		b.server.window = window{}
		for _, l := range b.tools {
			l.window = window{}
		}
	}
	b.rule = rule
}

// A Pass lets one call through. [Breaker.Done] must be called when the call ends.
type Pass struct {
	tool                   string
	serverStage, toolStage uint64
}

// A Refusal says why a call may not begin.
type Refusal struct {
	Tool string        // that is held back; "": the whole server is
	Wait time.Duration // until a call may probe
}

// Admit lets a tool call begin, or says why not. An empty name means a call without a tool.
func (b *Breaker) Admit(now time.Time, tool string) (Pass, *Refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lane(tool)
	if refusal := b.refusal(now, tool, l); refusal != nil {
		if refusal.Tool != "" {
			l.refused++
		} else {
			b.server.refused++
		}
		return Pass{}, refusal
	}
	pass := Pass{tool: tool, serverStage: b.server.begin(now)}
	if l != nil {
		pass.toolStage = l.begin(now)
	}
	return pass, nil
}

// Closed reports whether neither the server nor the tool is held back, not even for a probe.
func (b *Breaker) Closed(tool string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.tools[tool]
	return b.server.Closed() && (l == nil || l.Closed())
}

// Refuses says why a call could not begin now, or returns nil. It counts nothing.
func (b *Breaker) Refuses(now time.Time, tool string) *Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusal(now, tool, b.tools[tool])
}

func (b *Breaker) refusal(now time.Time, tool string, l *lane) *Refusal {
	if wait := b.server.wait(now); wait > 0 {
		return &Refusal{Wait: wait}
	}
	if l == nil {
		return nil
	}
	if wait := l.wait(now); wait > 0 {
		return &Refusal{Tool: tool, Wait: wait}
	}
	return nil
}

// Done reports how a pass's call ended, and how long the server asked to be left alone, if it did. It returns
// the circuits that have opened or closed.
func (b *Breaker) Done(now time.Time, pass Pass, o Sign, stated time.Duration) (changed []State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stated = min(stated, maxStated)
	if b.server.stage == pass.serverStage {
		switch o {
		case Answered, Failed, Missed:
			if b.server.note(now, &b.rule, o != Answered, stated) {
				changed = append(changed, b.server.state(now, "", &b.rule))
			}
		case Nothing, TimedOut:
			b.server.leave()
		}
	}
	l := b.tools[pass.tool]
	if l == nil || l.stage != pass.toolStage {
		return changed
	}
	switch o {
	case Answered, Failed, TimedOut:
		if l.note(now, &b.rule, o != Answered, stated) {
			changed = append(changed, l.state(now, pass.tool, &b.rule))
		}
	case Nothing, Missed:
		l.leave()
	}
	return changed
}

// Reset closes an open circuit, of the server or with a name of that tool, and reports whether it was open. Calls under way are not
// counted.
func (b *Breaker) Reset(tool string) (wasOpen bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.tools[tool]
	if tool == "" {
		l = &b.server
	}
	if l == nil || l.Closed() {
		return false
	}
	l.Close()
	l.stage++
	l.window = window{}
	return true
}

// lane returns a tool's lane, or nil without a name.
func (b *Breaker) lane(tool string) *lane {
	l := b.tools[tool]
	if l != nil || tool == "" {
		return l
	}
	if len(b.tools) >= maxTools { // a client may have invented names
		maps.DeleteFunc(b.tools, func(_ string, l *lane) bool { return l.Closed() })
	}
	if len(b.tools) < maxTools {
		l = new(lane)
		b.tools[tool] = l
	}
	return l
}

// wait returns how long a call waits until it may probe; 0 means that it may begin.
func (l *lane) wait(now time.Time) time.Duration {
	if l.Closed() {
		return 0
	}
	if _, probing := l.Probing(now); probing {
		return probeWait
	}
	return max(l.Until().Sub(now), 0)
}

// begin records that a call begins, and returns its stage. A probe has a stage of its own.
func (l *lane) begin(now time.Time) (stage uint64) {
	if !l.Closed() {
		l.Begin(now)
		l.stage++
	}
	return l.stage
}

// leave records that a call says nothing about the server.
func (l *lane) leave() {
	if !l.Closed() {
		l.Leave()
		l.stage++
	}
}

// note counts a call, and opens or closes the circuit. It reports whether it did.
func (l *lane) note(now time.Time, rule *Settings, failed bool, stated time.Duration) (changed bool) {
	if l.Closed() {
		l.window.note(now, rule.Window, failed)
		if !failed {
			return false
		}
		calls, failures := l.window.sums(now, rule.Window)
		if calls < rule.MinCalls || float64(failures) < rule.FailureRate*float64(calls) {
			return false
		}
	}
	l.stage++
	l.window = window{}
	if failed {
		l.Open(now, rule.OpenFor, rule.MaxOpen, stated)
	} else {
		l.Close()
	}
	return true
}
