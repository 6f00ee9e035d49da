package many

import (
	"context"
	"regexp"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// read passes a read on to the server that has the resource. If no list decides, the servers are asked
// in order until one knows the resource.
func (c *Conn) read(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	servers, e := c.readers(ctx, r, r.Message.Name)
	if e != nil {
		return nil, e
	}
	for {
		resp, err := c.pass(ctx, r.Clone(), servers[0], r.Message.Name)
		if servers = servers[1:]; err != nil || len(servers) == 0 || !isUnknownResource(resp) {
			return resp, err
		}
		_ = resp.Close() // it has been read
	}
}

// readers returns the servers that may have a resource: the first one that lists it, otherwise the
// first one with a matching template, otherwise all that have resources.
func (c *Conn) readers(ctx context.Context, r *upstream.Request, uri string) ([]*Source, *recourse.Error) {
	var allowed []*Source
	for _, s := range c.options.Load().Servers {
		if s.Names.Allows(uri) {
			allowed = append(allowed, s)
		}
	}
	if owner := c.reader(r, allowed, uri); owner != nil {
		return []*Source{owner}, nil
	}
	outcomes := append(c.askAll(ctx, r, allowed, resources), c.askAll(ctx, r, allowed, templates)...)
	if ctx.Err() != nil {
		return nil, upstream.EndedBeforeSend(ctx, c.Name())
	}
	if owner := c.reader(r, allowed, uri); owner != nil {
		return []*Source{owner}, nil
	}
	var may []*Source
	for _, o := range outcomes[:len(allowed)] {
		if l := c.last(r, o.server, discovery); l == nil || json.Lookup(l.Said, resources.capability) != nil {
			may = append(may, o.server)
		}
	}
	if len(may) == 0 {
		return nil, recourse.NotFound("resource", uri).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	}
	return may, nil
}

// reader returns the server that has a resource, by the last lists; nil: they do not decide.
func (c *Conn) reader(r *upstream.Request, servers []*Source, uri string) *Source {
	for _, s := range servers {
		if c.last(r, s, resources).has(uri) {
			return s
		}
	}
	for _, s := range servers {
		for _, it := range (fetched{list: c.last(r, s, templates)}).items() {
			if it.Name == uri || fits(it.Name, uri) {
				return s
			}
		}
	}
	return nil
}

// expression is a part of a URI template in braces (RFC 6570).
var expression = regexp.MustCompile(`\{[^{}]*\}`)

// fits reports whether a template can produce a URI: any text matches an expression, and any text
// without a slash matches a simple one.
func fits(template, uri string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	at := 0
	for _, span := range expression.FindAllStringIndex(template, -1) {
		pattern.WriteString(regexp.QuoteMeta(template[at:span[0]]))
		switch operator := template[span[0]+1]; {
		case strings.IndexByte("+#", operator) >= 0:
			pattern.WriteString(`.+`)
		case strings.IndexByte("./;?&", operator) >= 0:
			pattern.WriteString(`.*`)
		default:
			pattern.WriteString(`[^/]+`)
		}
		at = span[1]
	}
	pattern.WriteString(regexp.QuoteMeta(template[at:]) + `\z`)
	matcher, err := regexp.Compile(pattern.String())
	return err == nil && matcher.MatchString(uri)
}

// isUnknownResource reports whether an answer says that there is no such resource. The answer can still
// be read if it does not.
func isUnknownResource(resp *wire.Answer) bool {
	const most = 64 << 10 // bytes of a failure
	if resp.Failure == nil {
		return false
	}
	text, err := resp.Peek(most)
	if err != nil || resp.Stream {
		return false
	}
	code := string(json.Lookup(text, "/error/code"))
	return code == "-32602" || code == "-32002" || resp.Failure.Kind == recourse.KindNotFound
}
