package many

import (
	"context"
	"fmt"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// maxInstructions limits the instructions of all servers together, in bytes.
const maxInstructions = 64 << 10

// ofEndpoint are the capabilities that an endpoint can pass on. value says what the endpoint itself
// does about changes.
var ofEndpoint = []struct{ name, value string }{
	{"completions", `{}`},
	{"logging", `{}`},
	{"prompts", `{"listChanged":true}`},
	{"resources", `{"listChanged":true,"subscribe":true}`},
	{"tools", `{"listChanged":true}`},
}

// tasks is an extension whose requests name no tool, so nothing shows which server they are for.
const tasks = "io.modelcontextprotocol/tasks"

// discover answers server/discover with what all servers can do (MCP 2026-07-28, "Discovery"). A server
// whose capabilities are not known is assumed to have tools, prompts and resources: a client asks only
// once.
func (c *Conn) discover(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	outcomes := c.askAll(ctx, r, c.options.Load().Servers, discovery)
	if ctx.Err() != nil {
		return nil, upstream.EndedBeforeSend(ctx, c.Name())
	}
	can, extensions := map[string]bool{}, map[string]json.Value{}
	var instructions strings.Builder
	for _, o := range outcomes {
		if o.list == nil {
			can["tools"], can["prompts"], can["resources"] = true, true, true
			continue
		}
		for _, m := range json.MembersOf(json.Lookup(o.list.Said, "/capabilities")) {
			can[m.Name] = can[m.Name] || m.Value.Kind() == '{'
		}
		for _, m := range json.MembersOf(json.Lookup(o.list.Said, "/capabilities/extensions")) {
			if _, taken := extensions[m.Name]; !taken && m.Name != tasks {
				extensions[m.Name] = m.Value
			}
		}
		o.server.instruct(&instructions, o.list.Said)
	}
	var capabilities json.Members
	for _, one := range ofEndpoint {
		if can[one.name] {
			capabilities.Add(one.name, json.Value(one.value))
		}
	}
	if len(extensions) > 0 {
		capabilities.Add("extensions", append(json.AppendMembers([]byte{'{'}, extensions), '}'))
	}
	var info json.Members
	info.Text("name", c.Name())
	info.Text("version", upstream.Version)
	result := json.Members{{Name: "resultType", Value: json.Value(`"complete"`)}}
	result.Texts("supportedVersions", wire.Versions())
	result.Object("capabilities", capabilities)
	result.Text("instructions", strings.TrimSpace(instructions.String()))
	result.Number("ttlMs", 0)
	result.Text("cacheScope", "private")
	result.Object("_meta", json.Members{{Name: wire.MetaServerInfo, Value: info.AppendTo(nil)}})
	return wire.RespondResult(r.Message.ID, result.AppendTo(nil)), nil
}

// instruct adds the server's instructions to the others, under its title.
func (s *Source) instruct(to *strings.Builder, said json.Value) {
	var text string
	if json.UnmarshalLenient(json.Lookup(said, "/instructions"), &text) != nil || strings.TrimSpace(text) == "" {
		return
	}
	heading := "# " + s.Title
	if name, ok := s.Names.Offered(""); ok && name != "" {
		heading += fmt.Sprintf(" (tools and prompts begin with %s)", name)
	}
	if to.Len()+len(heading)+len(text) <= maxInstructions {
		fmt.Fprintf(to, "%s\n\n%s\n\n", heading, strings.TrimSpace(text))
	}
}
