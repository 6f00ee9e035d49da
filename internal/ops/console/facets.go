package console

import (
	"cmp"
	"slices"

	"github.com/recoursehq/recourse/internal/store"
)

// A facet is a way to narrow a list, with a count for each choice.
type facet struct {
	name, title string
	chosen      string
	choices     []choice // the selected one first, then the most frequent
}

// A choice is a value of a facet. Its count is how many failures the list would have with it.
type choice struct {
	value string
	count int64
}

// A mark is what distinguishes failures.
type mark struct {
	name, title string
	chosen      func(f *store.Filter) *string
	values      func(c *store.Count) []string
}

var marks = []mark{
	{
		paramServer, "Server",
		func(f *store.Filter) *string { return &f.Server },
		func(c *store.Count) []string { return []string{c.Server} },
	},
	{
		paramTool, "Tool",
		func(f *store.Filter) *string { return &f.Tool },
		func(c *store.Count) []string { return []string{c.Tool} },
	},
	{
		paramKind, "Kind",
		func(f *store.Filter) *string { return &f.Kind },
		func(c *store.Count) []string { return []string{c.Kind} },
	},
	{
		paramOrigin, "Origin",
		func(f *store.Filter) *string { return &f.Origin },
		func(c *store.Count) []string { return []string{c.Origin} },
	},
	{
		paramCaller, "Caller",
		func(f *store.Filter) *string { return &f.Caller },
		func(c *store.Count) []string { return []string{c.Caller, c.Org} },
	},
}

// facetShown is how many choices of a facet are visible at first.
const facetShown = 7

// facets returns a query's facets, and how many failures match it.
func (q *query) facets(counts []store.Count) (all []facet, total int64) {
	for i := range counts {
		if counts[i].Chosen(&q.Filter) {
			total += counts[i].Failures
		}
	}
	for _, by := range marks {
		others := q.Filter
		chosen := *by.chosen(&others)
		*by.chosen(&others) = ""
		found := map[string]int64{}
		for i := range counts {
			if !counts[i].Chosen(&others) {
				continue
			}
			values := by.values(&counts[i])
			slices.Sort(values)
			for _, value := range slices.Compact(values) { // a caller who is named like their organisation counts once
				found[value] += counts[i].Failures
			}
		}
		delete(found, "")
		if chosen != "" {
			found[chosen] += 0
		}
		f := facet{name: by.name, title: by.title, chosen: chosen}
		for value, count := range found {
			f.choices = append(f.choices, choice{value, count})
		}
		slices.SortFunc(f.choices, func(a, b choice) int {
			return cmp.Or(first(a.value == chosen, b.value == chosen), cmp.Compare(b.count, a.count), cmp.Compare(a.value, b.value))
		})
		if len(f.choices) > 0 {
			all = append(all, f)
		}
	}
	return all, total
}

// first compares two values, one of which may be the one that comes first.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// seen returns the choices that are visible at first, and the others.
func (f *facet) seen() (seen, others []choice) {
	n := min(len(f.choices), facetShown)
	if n+1 == len(f.choices) { // it takes no more room than saying that there is another
		n++
	}
	return f.choices[:n], f.choices[n:]
}
