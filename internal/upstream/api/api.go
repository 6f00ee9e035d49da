package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
)

// Options say how an API is reached.
type Options struct {
	Name    string // the provider's display name
	API     *openapi.API
	Headers map[string]string // sent with each request
	Query   map[string]string // sent with each request; may be secret
	Forward []string          // canonical names of forwarded headers
	User    upstream.UserRule // what it is told of a request's user
	Format  Format            // of the failures
	Dial    upstream.Dial     // nil: the operating system's
}

// A Format is an argument of some tools that selects the form of their failures, which the gateway writes: the provider does
// not get it, unless it has a parameter of that name.
type Format struct {
	Argument string
	Tools    []string
	Values   []string
}

// An Adapter presents an API as a server. It is safe for concurrent use.
type Adapter struct {
	Options

	tools     map[string]*openapi.Offer
	pages     [][]byte // results of tools/list
	hello     []byte   // result of server/discover
	transport *http.Transport
}

var _ upstream.Connection = (*Adapter)(nil)

// maxPage is the approximate maximum size of a page of tools/list, in bytes.
const maxPage = 1 << 20

// New returns the server for an API.
func New(o Options) (*Adapter, error) {
	if _, err := url.Parse(o.API.Base); err != nil {
		return nil, fmt.Errorf("base URL of %s: %w", o.Name, err)
	}
	c := &Adapter{
		Options: o, tools: make(map[string]*openapi.Offer, len(o.API.Tools)),
		hello: hello(o.API), transport: upstream.NewTransport(o.Dial),
	}
	tools := slices.Clone(o.API.Tools)
	for i, t := range tools {
		if slices.Contains(o.Format.Tools, t.Name) {
			tools[i] = o.Format.of(t)
		}
		c.tools[t.Name] = tools[i]
	}
	c.pages = pages(tools)
	return c, nil
}

// of returns a tool with the argument, unless it has one of that name.
func (f *Format) of(t *openapi.Offer) *openapi.Offer {
	if json.Lookup(t.InputSchema, json.Pointer("/properties").AppendToken(f.Argument)) != nil {
		return t
	}
	var schema json.Members
	schema.Text("type", "string")
	schema.Texts("enum", f.Values)
	schema.Text("description", "The form in which a failure is told.")
	with := *t
	with.InputSchema = json.Edit(t.InputSchema, func(name string, value json.Value) json.Value {
		if name != "properties" {
			return value
		}
		asItIs := func(_ string, value json.Value) json.Value { return value }
		return json.Edit(value, asItIs, json.Members{{Name: f.Argument, Value: schema.AppendTo(nil)}})
	}, nil)
	return &with
}

// Name returns the provider's display name.
func (c *Adapter) Name() string { return c.Options.Name }

// Era returns the modern one.
func (*Adapter) Era() wire.Era { return wire.Modern }

// Close ends the connections that are idle.
func (c *Adapter) Close() { c.transport.CloseIdleConnections() }

// Do implements [upstream.Connection]. Its error may also be of origin provider: its answer to the request.
func (c *Adapter) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	if !r.IsPost() {
		return wire.RespondRefusal(http.StatusMethodNotAllowed, "the modern era has no "+r.Method, http.MethodPost), nil
	}
	m := r.Message
	if m == nil {
		m = wire.BorrowMessage()
		defer m.Return()
		if err := wire.Parse(r.Body, m); err != nil {
			return wire.RespondMalformed(m.ID, err), nil
		}
	}
	if m.Kind != wire.Request {
		return wire.Respond(http.StatusAccepted, nil), nil
	}
	switch m.Method {
	case wire.MethodDiscover:
		return wire.RespondResult(m.ID, c.hello), nil
	case wire.MethodToolsList:
		return c.list(m), nil
	case wire.MethodToolsCall:
		t := c.tools[m.Name]
		if t == nil {
			return wire.RespondError(m.ID, wire.CodeInvalidParams, "There is no such tool."), nil
		}
		result, err := c.call(ctx, r, t, m.Arguments)
		if err != nil {
			return nil, err
		}
		return wire.RespondResult(m.ID, result), nil
	default:
		refusal := wire.AppendError(nil, m.ID, wire.CodeMethodNotFound, c.Name()+" has tools only.", nil)
		return wire.Respond(http.StatusNotFound, refusal), nil
	}
}

func (c *Adapter) list(m *wire.Message) *wire.Answer {
	page := 0
	if cursor := json.Value(m.Cursor); cursor != nil {
		var err error
		if page, err = strconv.Atoi(json.Text(cursor, "")); err != nil || page < 1 || page >= len(c.pages) {
			return wire.RespondError(m.ID, wire.CodeInvalidParams, "There is no page with this cursor.")
		}
	}
	return wire.RespondResult(m.ID, c.pages[page])
}

// listTTL is how long clients may keep the list. It only changes with the configuration.
const listTTL = 5 * time.Minute

func pages(tools []*openapi.Offer) (all [][]byte) {
	page := []byte(nil)
	end := func(next int) {
		page = append(page, ']')
		if next > 0 {
			page = fmt.Appendf(page, `,"nextCursor":"%d"`, next)
		}
		all = append(all, fmt.Appendf(page, `,"resultType":"complete","ttlMs":%d,"cacheScope":"public"}`, listTTL.Milliseconds()))
		page = nil
	}
	for _, t := range tools {
		if len(page) > maxPage {
			end(len(all) + 1)
		}
		if page == nil {
			page = []byte(`{"tools":[`)
		} else {
			page = append(page, ',')
		}
		page = appendTool(page, t)
	}
	end(0)
	return all
}

// appendTool appends a tool as lists describe it.
func appendTool(dst []byte, t *openapi.Offer) []byte {
	var l json.Members
	l.Text("name", t.Name)
	l.Text("description", t.Summary)
	l.Add("inputSchema", t.InputSchema)
	l.Some("outputSchema", t.OutputSchema)
	var hints json.Members
	hints.Flag("readOnlyHint", t.ReadOnly)
	if !t.ReadOnly {
		hints.Flag("destructiveHint", t.Method != http.MethodPost)
		hints.Flag("idempotentHint", t.Idempotent)
	}
	l.Object("annotations", hints)
	return l.AppendTo(dst)
}

// hello returns the result of server/discover (MCP 2026-07-28, "Discovery").
func hello(a *openapi.API) []byte {
	var info, l json.Members
	info.Text("name", a.Title)
	info.Text("version", a.Version)
	l.Text("resultType", "complete")
	l.Texts("supportedVersions", []string{wire.Version20260728})
	l.Add("capabilities", json.Value(`{"tools":{}}`))
	l.Number("ttlMs", int(listTTL.Milliseconds()))
	l.Text("cacheScope", "public")
	l.Object("_meta", json.Members{{Name: wire.MetaServerInfo, Value: info.AppendTo(nil)}})
	return l.AppendTo(nil)
}
