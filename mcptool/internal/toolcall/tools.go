package toolcall

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/redact"
)

// Tool is what an SDK knows of a tool.
type Tool struct {
	Name string
	// Source is the SDK's own value for the tool, a pointer: another one means
	// another tool of the same name.
	Source any
	// InputSchema returns the tool's inputSchema.
	InputSchema  func() ([]byte, error)
	OutputSchema bool
	ReadOnly     bool
	Idempotent   bool
}

// A tool is one of a server's tools, made ready.
type tool struct {
	Tool

	input func() *input
}

// An input is a tool's inputSchema, read when it is first needed.
type input struct {
	schema     *args.Schema // nil where it cannot be compiled
	properties map[string]json.Value
}

func (s *Server) newTool(t Tool) *tool {
	return &tool{Tool: t, input: sync.OnceValue(func() *input {
		in := &input{}
		raw, err := t.InputSchema()
		if err == nil {
			_ = json.UnmarshalLenient(json.Lookup(raw, "/properties"), &in.properties) // a schema without any
			in.schema, err = args.Compile(raw, nil)
		}
		if err != nil {
			in.schema = nil
			s.log.Warn("inputSchema cannot be compiled: the arguments are not checked here",
				slog.String("tool", t.Name), slog.String("cause", redact.Log(err.Error())))
		}
		return in
	})}
}

// check returns what is wrong with the arguments of a call.
func (t *tool) check(ctx context.Context, arguments json.Value) []recourse.Violation {
	in := t.input()
	if in.schema == nil {
		return nil
	}
	if string(arguments) == "null" { // some SDKs write null for none
		arguments = nil
	}
	return in.schema.CheckNative(ctx, arguments)
}

// A toolList is what a server offers. It does not change.
type toolList struct {
	tools map[string]*tool
	names []string
}

func (l *toolList) get(name string) *tool {
	if l == nil {
		return nil
	}
	return l.tools[name]
}

// tools remembers a server's tools, which may change at any time without a word:
// nothing is refused on the word of a list before it was fetched anew.
type tools struct{ last atomic.Pointer[toolList] }

// list returns the list as it was last seen, fetched where none was.
func (s *Server) list(ctx context.Context, c *Call) *toolList {
	if l := s.tools.last.Load(); l != nil {
		return l
	}
	return s.fetch(ctx, c)
}

// tools asks for the list, past middleware of the author's.
func (c *Call) tools(ctx context.Context) (offered []Tool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = NewPanic(p)
		}
	}()
	return c.List(ctx)
}

// fetch asks for the list. It returns nil where it cannot be had.
func (s *Server) fetch(ctx context.Context, c *Call) *toolList {
	offered, err := c.tools(ctx)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "tools/list failed: the arguments are not checked here",
			slog.String("cause", redact.Log(err.Error())))
		return nil
	}
	before := s.tools.last.Load()
	l := &toolList{tools: make(map[string]*tool, len(offered)), names: make([]string, 0, len(offered))}
	for _, t := range offered {
		ready := before.get(t.Name)
		if ready == nil || ready.Source != t.Source {
			ready = s.newTool(t)
		}
		l.tools[t.Name] = ready
		l.names = append(l.names, t.Name)
	}
	s.tools.last.Store(l)
	return l
}
