// Package grant decides which tools a caller may call, and with which arguments.
package grant

import (
	"slices"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/policy/glob"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A Grant lets some callers do something. It applies to a caller who meets all of its requirements.
type Grant struct {
	Callers []string // one of these, as [CallerOf] writes them; none: any
	Orgs    []string // of one of these organisations; none: any
	Roles   []string // with one of these roles; none: any
	Scopes  []string // with all of these scopes

	Tools     []string // patterns of the tools that they may call
	When      *Condition
	Prompts   bool // whether they may use prompts
	Resources bool // whether they may read resources
}

// Grants are the grants of an endpoint. What none of them allows is refused.
type Grants []Grant

// Conditional reports whether some of them only apply under a condition.
func (all Grants) Conditional() bool {
	return slices.ContainsFunc(all, func(g Grant) bool { return g.When != nil })
}

// A Decision is whether a caller may do something.
type Decision struct {
	Allowed bool
	Lacks   []string // the scopes that would allow it; nil: scopes would not
	Cause   error    // why a condition could not be checked, for the log
}

// A Use is what a caller wants to do.
type Use struct {
	Tool      string // to call; "": none
	ReadOnly  bool   // the tool only reads
	Arguments json.Value
	Listing   bool // it only asks whether the tool could be called; the arguments follow later

	Prompts, Resources bool
	Tasks              bool // whichever tool they are of
}

// CallerOf writes a caller as grants name it. Another entry of access control may have one of the same name.
func CallerOf(entry, name string) string { return entry + "/" + name }

// Decide reports whether a caller may do that.
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

// isFor reports whether the grant is for a caller, apart from the scopes.
func (g *Grant) isFor(who *authn.Identity) bool {
	return (g.Callers == nil || slices.Contains(g.Callers, CallerOf(who.Access, who.Name))) &&
		(g.Orgs == nil || who.Org != "" && slices.Contains(g.Orgs, who.Org)) &&
		(g.Roles == nil || slices.ContainsFunc(g.Roles, func(role string) bool { return slices.Contains(who.Roles, role) }))
}

// covers reports whether the grant is for that use, apart from the arguments.
func (g *Grant) covers(use *Use) bool {
	switch {
	case use.Prompts && g.Prompts, use.Resources && g.Resources, use.Tasks && g.When == nil && slices.Contains(g.Tools, "*"):
		return true
	case use.Tool == "":
		return false
	}
	return slices.ContainsFunc(g.Tools, func(pattern string) bool { return glob.Match(pattern, use.Tool) })
}
