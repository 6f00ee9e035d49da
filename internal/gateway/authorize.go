package gateway

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/policy/auth/grant"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/retry"
)

// authorize refuses what none of the endpoint's grants allow.
func authorize(c *call, next next) *failure {
	if c.on.grants == nil || !c.req.asks() && !c.req.notifiesOfUnknown() {
		return next(c)
	}
	for _, use := range c.uses() {
		if f := c.permit(&use); f != nil {
			return f
		}
	}
	return next(c)
}

// notifiesOfUnknown reports whether the message is a notification of a method that clients do not send in any version of
// the protocol. What servers do with it is not known, as with an unknown method.
func (r *request) notifiesOfUnknown() bool {
	if r.method != http.MethodPost || r.msg.Kind != wire.Notification {
		return false
	}
	switch r.msg.Method {
	case wire.MethodInitialized, wire.MethodCancelled, wire.MethodProgress, wire.MethodRootsChanged:
		return false
	}
	return true
}

// permit returns why the caller may not do that, or nil.
func (c *call) permit(use *grant.Use) *failure {
	d := c.on.grants.Decide(&c.who.verified, use)
	switch {
	case d.Allowed:
		return nil
	case len(d.Lacks) > 0 && !c.reply.Started && !c.req.stdio && c.member == nil:
		refusal := auth.MissingScope(slices.Concat(c.who.verified.Scopes, d.Lacks), d.Lacks)
		c.on.challenge(&c.req, c.reply.Header(), "insufficient_scope", refusal)
		e := refusal.Record.WithOrigin(recourse.OriginCaller)
		return &failure{Err: e, Refusal: true, At: contract.AtSession, Status: http.StatusForbidden, OfCaller: true}
	}
	what := "use " + c.req.msg.Method
	if use.Tool != "" {
		what = "call " + use.Tool
	}
	e := c.who.forbidden(what)
	if use.Tool != "" && c.on.lets(&c.who, use.Tool, use.ReadOnly) {
		e = e.WithMessage("%s may not %s with these arguments.", c.who.verified.Name, what)
	}
	return answer.Settled(e.CausedBy(d.Cause))
}

// forbidden returns the failure for a caller who lacks permission.
func (who *caller) forbidden(what string) *recourse.Error {
	return recourse.PermissionDenied().WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
		WithMessage("%s may not %s.", who.verified.Name, what)
}

// uses returns what the request needs permission for, all of it. Opening a session, listing tools and keeping a
// connection alive need none, and neither does hearing that a list has changed.
func (c *call) uses() []grant.Use {
	m := c.req.msg
	switch m.Method {
	case wire.MethodInitialize, wire.MethodPing, wire.MethodDiscover, wire.MethodToolsList, wire.MethodSetLevel:
		return nil
	case wire.MethodListen:
		if hearsOfLists(m.Params) {
			return nil
		}
		return []grant.Use{{Resources: true}}
	case wire.MethodToolsCall:
		readOnly := c.rule.nature == retry.Reads
		if c.on.many != nil && c.on.grants.Conditional() {
			readOnly = c.memberReads(m.Name)
		}
		return []grant.Use{{Tool: m.Name, ReadOnly: readOnly, Arguments: m.Arguments}}
	case wire.MethodPromptsList, wire.MethodPromptsGet:
		return []grant.Use{{Prompts: true}}
	case wire.MethodComplete:
		return completes(json.Lookup(m.Params, "/ref"))
	}
	if strings.HasPrefix(m.Method, "tasks/") { // it does not say of which tool the task is
		return []grant.Use{{Tasks: true}}
	}
	return []grant.Use{{Resources: true}}
}

// hearsOfLists reports whether a subscription is to nothing but changes of lists. What a server makes of other members is not known.
func hearsOfLists(params json.Value) bool {
	for _, m := range json.MembersOf(params) {
		switch {
		case m.Name == "_meta":
		case m.Name != "notifications", m.Value.Kind() != '{':
			return false
		}
	}
	return !slices.ContainsFunc(json.MembersOf(json.Lookup(params, "/notifications")), func(m json.Member) bool {
		switch m.Name {
		case "toolsListChanged", "promptsListChanged", "resourcesListChanged":
			return strings.IndexByte("tfn", byte(m.Value.Kind())) < 0
		case "resourceSubscriptions":
			list, _ := json.Items(m.Value, 1)
			return m.Value.Kind() != 'n' && (m.Value.Kind() != '[' || len(list) > 0)
		}
		return true
	})
}

// completes returns what completing an argument of that reference needs permission for: of a prompt, of a resource or,
// if servers could take it for either or for something else, of both.
func completes(ref json.Value) (uses []grant.Use) {
	kind, hasName, hasURI := json.Text(ref, "/type"), json.Lookup(ref, "/name") != nil, json.Lookup(ref, "/uri") != nil
	isPrompt := kind == "ref/prompt" || kind == "" && hasName
	isResource := kind == "ref/resource" || kind == "" && hasURI
	if hasName || !isResource {
		uses = append(uses, grant.Use{Prompts: true})
	}
	if hasURI || !isPrompt {
		uses = append(uses, grant.Use{Resources: true})
	}
	return uses
}

// lets reports whether a caller may call a tool with at least some arguments.
func (on *endpoint) lets(who *caller, tool string, readOnly bool) bool {
	return on.grants.Decide(&who.verified, &grant.Use{Tool: tool, ReadOnly: readOnly, Listing: true}).Allowed
}

// unknownTool returns why a tool that the server does not list cannot be called. It names no tool that the
// caller may not see.
func (c *call) unknownTool() *recourse.Error {
	name, list := c.req.msg.Name, &c.rule.list.List
	if c.on.grants != nil && !c.on.lets(&c.who, name, false) {
		return c.who.forbidden("call " + name)
	}
	seen := slices.DeleteFunc(slices.Clone(list.Names), func(local string) bool { return !c.sees(list.Tools[local]) })
	return c.member.noneNamed(name, seen)
}

// noneNamed returns the failure for a tool that is not among these names. A nil member's are the server's own.
func (m *memberConn) noneNamed(name string, names []string) *recourse.Error {
	var offered []string
	for _, local := range names {
		if other, ok := m.offeredName(local); ok {
			offered = append(offered, other)
		}
	}
	name, _ = m.offeredName(name)
	return toolcall.Unknown(name, offered)
}

// sees reports whether the caller may call a tool that the server lists.
func (c *call) sees(t *toolcall.Entry) bool {
	if c.on.grants == nil {
		return true
	}
	if c.on.many != nil {
		return c.on.lets(&c.who, t.Name, c.memberReads(t.Name))
	}
	return c.on.lets(&c.who, t.Name, c.on.natureOf(t.Name, c.on.entry.Tool(t.Name), t) == retry.Reads)
}

// editsList reports whether the answer to a request is a list of tools that is not passed on as it is.
func (on *endpoint) editsList(r *request) bool {
	return r.msg.Method == wire.MethodToolsList && on.editsLists()
}

func (on *endpoint) editsLists() bool {
	return on.grants != nil || on.pins != nil || on.entry.AddsAgain() || on.entry.StatusTool
}

// editList returns a message with the tools as its caller sees them, if it answers tools/list. Caches must not share what not
// everybody sees.
func (c *call) editList(text []byte) []byte {
	list := json.Lookup(text, "/result/tools")
	if list.Kind() != '[' {
		return text
	}
	all, _ := json.Items(list, math.MaxInt)
	kept := all[:0]
	for _, raw := range all {
		if raw = c.listedTool(raw); raw != nil {
			kept = append(kept, raw)
		}
	}
	return json.Change(text, "result", func(result json.Value) json.Value {
		kept = c.on.withStatus(kept, result)
		result = json.Change(result, "tools", func(json.Value) json.Value { return json.Array(kept) })
		if c.on.grants == nil {
			return result
		}
		return json.Change(result, "cacheScope", func(json.Value) json.Value { return json.Value(`"private"`) })
	})
}
