package gateway

import (
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/wire"
)

// An Observer is told of each call once, when it has ended. It must not block, and may keep what it is given.
type Observer interface {
	Ended(o *Outcome)
}

// An Outcome is how a request has ended, for an observer outside the pipeline.
type Outcome struct {
	Server   string          // "": the request was for none
	Method   string          // of MCP, "other" if it has no such method; "": the request had none
	Tool     string          // that was called, if the server lists it
	End      string          // success, failure, broken off, client gone
	Record   *recourse.Error // of a failure, as the client was told; nil: there was none
	Observed bool            // the failure was passed on as it came
	Began    time.Time
	Took     time.Duration
	Attempts []Attempt // at most 16
}

// An Attempt is one request to the server.
type Attempt struct {
	Took    time.Duration // until the answer began, or the attempt failed
	Failure recourse.Kind // that it ended in; "": none
}

// Observe has o told of every call. It comes before the first one.
func (g *Gateway) Observe(o Observer) { g.observers = append(g.observers, outside{o}) }

// outside tells an observer outside the pipeline.
type outside struct{ to Observer }

func (o outside) ended(c *call) {
	out := &Outcome{
		Method: methodName(c.req.msg.Method), End: string(c.out.end), Record: c.out.record,
		Began: c.out.began, Took: c.out.took, Attempts: make([]Attempt, len(c.out.tries)),
	}
	if c.on != nil {
		out.Server = c.on.Name
		_, out.Observed = c.on.manner.(observing)
	}
	if c.rule.listed.Tool != nil {
		out.Tool = c.req.msg.Name
	}
	for i, try := range c.out.tries {
		out.Attempts[i] = Attempt{Took: try.took, Failure: recourse.Kind(try.failure)}
	}
	o.to.Ended(out)
}

// methodName returns the method of a message, if MCP has it: a client may write anything.
func methodName(method string) string {
	switch method {
	case "", wire.MethodInitialize, wire.MethodPing, wire.MethodDiscover, wire.MethodToolsList, wire.MethodToolsCall,
		"prompts/list", wire.MethodPromptsGet, "resources/list", "resources/templates/list", wire.MethodResourcesRead,
		wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodListen, wire.MethodSetLevel, "completion/complete",
		"tasks/get", "tasks/list", "tasks/result", "tasks/cancel",
		wire.MethodInitialized, wire.MethodCancelled, wire.MethodProgress, wire.MethodRootsChanged:
		return method
	default:
		return "other"
	}
}
