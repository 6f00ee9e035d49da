// Package grant decides which tools a caller may call, and with which arguments.
package grant

import (
	"slices"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/glob"
	"github.com/recoursehq/recourse/internal/json"
)

// A Grant lets some callers do something. It holds for a caller who meets all that it asks.
type Grant struct {
	Callers []string // of these names; none: of any
	Orgs    []string // of these organisations; none: of any
	Roles   []string // with one of these roles; none: with any
	Scopes  []string // with all of these scopes

	Tools     []string // patterns of the tools that they may call
	When      *Condition
	Prompts   bool // whether they may use prompts
	Resources bool // whether they may read resources
}

// Grants are those of an endpoint. What none of them lets a caller do is refused.
type Grants []Grant

// Conditional reports whether some of them hold under a condition only.
func (all Grants) Conditional() bool {
	return slices.ContainsFunc(all, func(g Grant) bool { return g.When != nil })
}

// A Decision is whether a caller may do something.
type Decision struct {
	Allowed bool
	Lacks   []string // the scopes with which it would be allowed; nil: it is not for scopes
	Cause   error    // why a condition could not be checked, for the log
}

// A Use is what a caller wants to do.
type Use struct {
	Tool      string // to call; "": none
	ReadOnly  bool   // the tool only reads
	Arguments json.Value
	Listing   bool // it only asks whether the tool could be called, with arguments to come

	Prompts, Resources bool
}

// Decide decides whether a caller may do that.
func (all Grants) Decide(who *authn.Identity, use *Use) (d Decision) {
	var args *arguments
	for i := range all {
		g := &all[i]
		if !g.isFor(who) || !g.covers(use) {
			continue
		}
		if g.When != nil && use.Tool != "" {
			if args == nil {
				args = &arguments{raw: use.Arguments}
			}
			ok, err := g.When.holds(who, use, args)
			if err != nil {
				d.Cause = err
			}
			if !ok {
				continue
			}
		}
		lacks := slices.DeleteFunc(slices.Clone(g.Scopes), func(scope string) bool { return slices.Contains(who.Scopes, scope) })
		if len(lacks) == 0 {
			return Decision{Allowed: true}
		}
		if d.Lacks == nil || len(lacks) < len(d.Lacks) {
			d.Lacks = lacks
		}
	}
	return d
}

// isFor reports whether the grant is for a caller, given the scopes.
func (g *Grant) isFor(who *authn.Identity) bool {
	return (g.Callers == nil || slices.Contains(g.Callers, who.Name)) &&
		(g.Orgs == nil || who.Org != "" && slices.Contains(g.Orgs, who.Org)) &&
		(g.Roles == nil || slices.ContainsFunc(g.Roles, func(role string) bool { return slices.Contains(who.Roles, role) }))
}

// covers reports whether the grant is about that, given the arguments.
func (g *Grant) covers(use *Use) bool {
	switch {
	case use.Prompts && g.Prompts, use.Resources && g.Resources:
		return true
	case use.Tool == "":
		return false
	}
	return slices.ContainsFunc(g.Tools, func(pattern string) bool { return glob.Match(pattern, use.Tool) })
}
