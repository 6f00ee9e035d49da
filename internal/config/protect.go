package config

import (
	"time"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Breaker says when calls to a server that does not answer are held back.
type Breaker struct {
	// Share of the calls within `window` that must fail before calls are held back: more than 0, at most 1.
	// Only failures of the transport count: a refused or reset connection, no answer in time, HTTP status
	// 502, 503 or 504, or the exit of the program. An error that a tool reports is an answer, and a call
	// cancelled by its client does not count.
	FailureRate float64 `yaml:"failure_rate" default:"0.5"`
	// Time over which calls are counted.
	Window time.Duration `yaml:"window" default:"30s"`
	// Calls within `window` below which none are held back.
	MinCalls int `yaml:"min_calls" default:"20"`
	// How long calls are refused the first time. After that one call at a time is let through, to find out
	// whether the server answers again. Each time in a row that it does not, the time doubles. A longer
	// `Retry-After` of the server's own counts, up to an hour.
	OpenFor time.Duration `yaml:"open_for" default:"5s"`
	// How long calls are refused at most before one is let through.
	MaxOpen time.Duration `yaml:"max_open" default:"1m"`
}

// Concurrency limits the calls in progress at once.
type Concurrency struct {
	// How many calls may be under way at once. A subscription, and the stream on which a server sends
	// notifications, do not count.
	Max int `yaml:"max,required" default:"(none)"`
	// How many more calls may wait for their turn, in the order in which they came. Any beyond that are
	// refused at once, with a wait of a second. `0` means that none wait.
	Queue int `yaml:"queue" default:"100"`
	// How long a call waits for its turn before it is refused. The wait does not count as time without a sign
	// of life, but it does count for `max_timeout`.
	Wait time.Duration `yaml:"wait" default:"10s"`
}

// Hedge says when a call that only reads is sent a second time.
type Hedge struct {
	// How long a call waits for its answer to begin before it is sent once more. It must be shorter than
	// `timeout`. The time within which 95 of 100 calls are answered is a good value.
	After time.Duration `yaml:"after,required" default:"(none)"`
}

func (v *validator) protect(s *Server, node *strictyaml.Node) {
	if s.Breaker != nil {
		v.breaker(s.Breaker, node.Get("breaker"))
	}
	if s.Concurrency != nil {
		v.concurrency(s.Concurrency, node.Get("concurrency"))
	}
	if s.Hedge == nil {
		return
	}
	v.duration(node.Get("hedge"), "after", s.Hedge.After)
	longest := s.Timeout
	for _, tool := range s.Tools {
		longest = max(longest, tool.Value.Timeout)
	}
	for i := range s.Operations {
		longest = max(longest, s.Operations[i].Timeout)
	}
	if after := node.Get("hedge").Get("after"); after != nil && longest > 0 && s.Hedge.After >= longest {
		v.doc.Reportf(after.Pos(), "shorten `after` or raise `timeout`",
			"no call is ever sent twice: it times out after %s", written(longest))
	}
	if node.Get("command") != nil {
		v.doc.Reportf(node.Key("hedge"), "remove it", "`hedge` belongs to a server with `url`, and this one has `command`")
	}
}

func (v *validator) breaker(b *Breaker, node *strictyaml.Node) {
	v.givenf(node, "failure_rate", b.FailureRate <= 0 || b.FailureRate > 1,
		"write it as `0.5` for half of the calls", "`failure_rate` must be more than 0 and at most 1")
	v.givenf(node, "min_calls", b.MinCalls < 1, "", "`min_calls` must be at least 1")
	v.duration(node, "window", b.Window)
	v.duration(node, "open_for", b.OpenFor)
	v.duration(node, "max_open", b.MaxOpen)
	longest := node.Get("max_open")
	if b.MaxOpen > 0 && b.OpenFor > b.MaxOpen {
		at := longest
		if at == nil {
			at = node.Get("open_for")
		}
		v.doc.Reportf(at.Pos(), "raise `max_open` or shorten `open_for`", "`open_for` (%s) is longer than `max_open` (%s)",
			written(b.OpenFor), written(b.MaxOpen))
	}
}

func (v *validator) concurrency(c *Concurrency, node *strictyaml.Node) {
	v.givenf(node, "max", c.Max < 1, "remove `concurrency` if there is to be no limit", "`max` must be at least 1")
	if queue := node.Get("queue"); queue != nil && c.Queue < 0 {
		v.doc.Reportf(queue.Pos(), "write `0` if no call is to wait", "`queue` must not be negative")
	}
	v.duration(node, "wait", c.Wait)
}
