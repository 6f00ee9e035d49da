package handler

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// AuthorServer is an author's server under a contract. It is safe for concurrent use.
type AuthorServer struct {
	rule   toolFacts // for every tool without its own
	rules  map[string]toolFacts
	log    *slog.Logger
	now    func() time.Time
	charge func(ctx context.Context) error // nil: calls are not charged
	calls  *Calls                          // that are made once
	tools  atomic.Pointer[toolcall.List]   // as they were last seen: they may change at any time without notice
}

// NewServer returns a server that follows c. Each of options is an Option.
func NewServer[O any](c *contract.Contract, options []O) *AuthorServer {
	s := &AuthorServer{rule: toolFacts{contract: Given(c)}, rules: map[string]toolFacts{}, log: slog.Default(), now: time.Now}
	for _, o := range options {
		if o, ok := any(o).(Option); ok {
			o.server(s)
		}
	}
	if s.calls == nil {
		s.calls = &Calls{ledger: once.NewInMemory(s.log)}
	}
	return s
}

// Given returns c, or panics if it is nil: silently using another contract would hide a misspelled name.
func Given(c *contract.Contract) *contract.Contract {
	if c == nil {
		const advice = "contract.MustBuiltin(contract.Default) is the default one"
		panic("mcptool: the contract is nil; " + advice)
	}
	return c
}

// ruleOf returns the rule of a tool.
func (s *AuthorServer) ruleOf(tool string) toolFacts {
	r, ok := s.rules[tool]
	if !ok {
		return s.rule
	}
	if r.contract == nil {
		r.contract = s.rule.contract
	}
	if r.timeout == 0 {
		r.timeout = s.rule.timeout
	}
	if r.texts == nil {
		r.texts = s.rule.texts
	}
	if r.families == nil {
		r.families = s.rule.families
	}
	return r
}

// Incoming is a request that an author's server has received.
type Incoming struct {
	// Method is the JSON-RPC method. Only a tools/call is examined before it runs.
	Method string
	// Tool and Arguments are those of a tools/call.
	Tool      string
	Arguments json.Value
	// Continues says that it continues a call that has asked for input (MCP 2026-07-28, multi round-trip requests).
	Continues bool
	// Caller is who calls, in words; empty if that is not known.
	Caller [3]string
	// Meta is its _meta, as the SDK has it.
	Meta any
	// Header is the header of the HTTP request; nil if there is none.
	Header http.Header
	// RequestID is the value of wire.MetaRequestID in the request's _meta, for a program that gets no headers.
	RequestID string
	// ResultType says that results carry resultType (2026-07-28 and later).
	ResultType bool
	// ResultOnly says that the SDK can only answer a failed call with a tool result.
	ResultOnly bool
	// List returns the tools that the caller is offered now. A tool whose Source is known need not be prepared again.
	List func(context.Context) ([]*toolcall.Entry, error)
}

// list fetches the tools, and recovers panics in the author's middleware.
func (r *Incoming) list(ctx context.Context) (offered []*toolcall.Entry, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = NewPanic(p)
		}
	}()
	return r.List(ctx)
}

// list returns the tools as they were last seen, or fetches them if they never were.
func (s *AuthorServer) list(ctx context.Context, r *Incoming) *toolcall.List {
	if l := s.tools.Load(); l != nil {
		return l
	}
	return s.relist(ctx, r)
}

// relist fetches the tools. It returns nil if that fails.
func (s *AuthorServer) relist(ctx context.Context, r *Incoming) *toolcall.List {
	offered, err := r.list(ctx)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "tools/list failed: the arguments are not checked here",
			slog.String("cause", redact.Log(err.Error())))
		return nil
	}
	before := s.tools.Load()
	l := &toolcall.List{Tools: make(map[string]*toolcall.Entry, len(offered)), Names: make([]string, 0, len(offered))}
	for _, t := range offered {
		if known := before.In(t.Name).Tool; known != nil && known.Source == t.Source {
			t = known
		} else {
			t.Native, t.Flawed = true, s.flawed()
		}
		l.Add(t)
	}
	s.tools.Store(l)
	return l
}

// flawed returns a function that logs, once, that arguments of a tool cannot be checked.
func (s *AuthorServer) flawed() func(t *toolcall.Entry, err error) {
	var first sync.Once
	return func(t *toolcall.Entry, err error) {
		first.Do(func() {
			s.log.Warn("inputSchema cannot be used in full", slog.String("tool", t.Name), slog.String("cause", redact.Log(err.Error())))
		})
	}
}
