package console

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/store"
)

// byEqual is the view of the failures in which equal ones are one.
const byEqual = "equal"

// maxGroups limits how many groups are shown.
const maxGroups = 100

// A failureGroup is failures that are equal but for numbers in their messages.
type failureGroup struct {
	*store.Group

	several bool // messages that differ in numbers
}

// reNumber matches what may differ in the messages of equal failures: numbers, and ids with digits.
var reNumber = regexp.MustCompile(`\b[\w-]*\d[\w-]*\b`)

// groups returns the groups of the failures that match a query, the largest first, and how many there are.
func (c *Console) groups(ctx context.Context, f *store.Filter) (groups []*failureGroup, many int, err error) {
	all, err := c.Journal.Groups(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(all, func(a, b *store.Group) int { return b.Last.Compare(a.Last) }) // the latest message stands for all
	by := map[store.Group]*failureGroup{}
	for _, g := range all {
		is := store.Group{
			Server: g.Server, Tool: g.Tool, Kind: g.Kind, Code: g.Code, Origin: g.Origin,
			Message: reNumber.ReplaceAllString(g.Message, "0"),
		}
		one := by[is]
		if one == nil {
			by[is] = &failureGroup{Group: g}
			groups = append(groups, by[is])
			continue
		}
		one.several = true
		one.Failures += g.Failures
		one.Callers = max(one.Callers, g.Callers)
		if g.First.Before(one.First) {
			one.First = g.First
		}
	}
	slices.SortStableFunc(groups, func(a, b *failureGroup) int { return cmp.Compare(b.Failures, a.Failures) })
	return groups[:min(len(groups), maxGroups)], len(groups), nil
}

// of returns the URL of the list of a group's failures, or of those that are like them if their messages differ.
func (l *failureList) of(g *failureGroup) templ.SafeURL {
	text := g.Message
	if g.several || len(text) > maxGroupText {
		text = l.Text
	}
	return l.at(failuresPath, paramGroup, "", paramServer, g.Server, paramTool, g.Tool, paramKind, g.Kind, paramText, text)
}

// callers says how many callers are known to have had a group's failures.
func (g *failureGroup) callers() string {
	if g.several {
		return "at least " + grouped(g.Callers)
	}
	return grouped(g.Callers)
}

// maxGroupText limits the text in a URL.
const maxGroupText = 512

// record returns what a group's failures have in common, as a failure.
func (g *failureGroup) record() *recourse.Error {
	return &recourse.Error{Kind: recourse.Kind(g.Kind), Code: g.Code, Origin: recourse.Origin(g.Origin)}
}
