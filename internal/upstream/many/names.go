package many

import (
	"context"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/yaml/nearest"
)

// named passes a request on to the server that has the tool or prompt in it.
func (c *Conn) named(ctx context.Context, r *upstream.Request, k *listKind) (*wire.Answer, error) {
	s, local, e := c.find(ctx, r, k, r.Message.Name)
	if e != nil {
		return nil, e
	}
	return c.pass(ctx, r, s, local)
}

// pass passes a request on to a server, using the server's own name for the item, local. The request's headers go with it.
func (c *Conn) pass(ctx context.Context, r *upstream.Request, s *Source, local string) (*wire.Answer, error) {
	var edits []wire.Edit
	if local != r.Message.Name {
		edits = append(edits, wire.Edit{At: r.Message.NameAt, With: json.AppendQuote(nil, local)})
	}
	to := requestTo(r, edits...)
	to.Header[wire.HeaderName] = []string{wire.EncodeHeader(local)}
	return s.Relay.Do(ctx, to)
}

// A candidate is a server that may have the item that a client names.
type candidate struct {
	*Source

	local string
}

// find returns the server that has a tool or prompt, and its own name for it. If the names alone
// decide, no list is read.
func (c *Conn) find(ctx context.Context, r *upstream.Request, k *listKind, name string) (*Source, string, *recourse.Error) {
	var all []candidate
	for _, s := range c.options.Load().Servers {
		if local, ok := s.Names.Local(name); ok {
			all = append(all, candidate{s, local})
		}
	}
	switch len(all) {
	case 0:
		return nil, "", c.unknown(r, k, name)
	case 1:
		return all[0].Source, all[0].local, nil
	}
	if owner := c.onlyOwner(r, k, all); owner != nil {
		return owner.Source, owner.local, nil
	}
	outcomes := c.askAll(ctx, r, sourcesOf(all), k)
	if ctx.Err() != nil {
		return nil, "", upstream.EndedBeforeSend(ctx, c.Name())
	}
	var owners []candidate
	for _, one := range all {
		if c.last(r, one.Source, k).has(one.local) {
			owners = append(owners, one)
		}
	}
	switch len(owners) {
	case 1:
		return owners[0].Source, owners[0].local, nil
	case 0:
		for _, o := range outcomes {
			if o.list == nil { // it may be this one
				return nil, "", recourse.Unavailable(o.server.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
					WithMessage("It is not known which server has the %s %.128s: %s has not answered.", k.what, name, o.server.Title)
			}
		}
		unknown := c.unknown(r, k, name)
		for _, o := range outcomes {
			if o.fail != nil || o.late { // its last list may be out of date
				return nil, "", recourse.Unavailable(o.server.Title).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
					WithMessage("%s cannot be reached now. When it last listed its %ss: %s", o.server.Title, k.what, unknown.Sentence())
			}
		}
		return nil, "", unknown
	default:
		return nil, "", collision(k, name, owners)
	}
}

// onlyOwner returns the only server that lists a name, by the last lists; nil: they do not decide. A
// server that has never answered has no list, and delays nobody's calls.
func (c *Conn) onlyOwner(r *upstream.Request, k *listKind, all []candidate) (owner *candidate) {
	for i, one := range all {
		if !c.last(r, one.Source, k).has(one.local) {
			continue
		}
		if owner != nil {
			return nil
		}
		owner = &all[i]
	}
	return owner
}

func sourcesOf(all []candidate) []*Source {
	servers := make([]*Source, len(all))
	for i, one := range all {
		servers[i] = one.Source
	}
	return servers
}

// unknown returns the failure of a request with a name that no server has.
func (c *Conn) unknown(r *upstream.Request, k *listKind, name string) *recourse.Error {
	e := recourse.UnknownTool(name)
	if k != tools {
		e = recourse.NotFound(k.what, name)
	}
	e = e.WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	var names []string
	for _, s := range c.options.Load().Servers {
		for _, it := range (fetched{list: c.last(r, s, k)}).items() {
			if offered, ok := s.offers(it.Name, k); ok {
				names = append(names, offered)
			}
		}
	}
	if other, ok := nearest.Of(name, names); ok {
		e = e.WithMessage("%s Did you mean %s?", e.Sentence(), other)
	}
	return e
}

// collision returns the failure of a call with a name that several servers have.
func collision(k *listKind, name string, owners []candidate) *recourse.Error {
	titles := make([]string, len(owners))
	for i, one := range owners {
		titles[i] = one.Title
	}
	last := len(titles) - 1
	return refused(recourse.KindUnknownTool).
		WithMessage("%s and %s both have a %s %.128s, so that it is not offered. "+
			"The operator has to give one of them a prefix, or rename or deny it.",
			strings.Join(titles[:last], ", "), titles[last], k.what, name)
}

// complete passes a completion request on to the server that has the prompt or the resource.
func (c *Conn) complete(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	params := json.MembersOf(r.Message.Params)
	at := slices.IndexFunc(params, func(m json.Member) bool { return m.Name == "ref" })
	if at < 0 {
		return nil, recourse.Missing("ref").WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	}
	var ref struct{ Name, URI string }
	_ = json.UnmarshalLenient(json.Lookup(params[at].Value, "/name"), &ref.Name) // otherwise it has none
	_ = json.UnmarshalLenient(json.Lookup(params[at].Value, "/uri"), &ref.URI)
	if ref.Name == "" {
		servers, e := c.readers(ctx, r, ref.URI)
		if e != nil {
			return nil, e
		}
		return servers[0].Relay.Do(ctx, requestTo(r))
	}
	s, local, e := c.find(ctx, r, prompts, ref.Name)
	if e != nil {
		return nil, e
	}
	of := json.MembersOf(params[at].Value)
	for i := range of {
		if of[i].Name == "name" {
			of[i].Value = json.AppendQuote(nil, local)
		}
	}
	params[at].Value = of.AppendTo(nil)
	return s.Relay.Do(ctx, requestTo(r, wire.Edit{At: r.Message.ParamsAt, With: params.AppendTo(nil)}))
}
