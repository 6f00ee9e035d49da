package recovery

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/recoursehq/recourse"
	internaljson "github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/retry"
)

// merged is what became of a batch's items over all attempts.
type merged struct {
	Succeeded []recourse.Succeeded `json:"succeeded"`
	Failed    []recourse.Failed    `json:"failed"`
}

// repeatItems ends a call that has failed in part: it repeats the call with only those failed items that may succeed.
func (x *exchange) repeatItems(result json.RawMessage, e *recourse.Error) (json.RawMessage, error) {
	all := merged{Succeeded: []recourse.Succeeded{}, Failed: []recourse.Failed{}}
	name := x.contract.BatchArgument(x.tool)
	items := itemsOf(x.arguments, name)
	for {
		x.hand(all.add(e.Succeeded))
		again, d := x.itemsAgain(e.Failed, all.without(items))
		for _, f := range e.Failed {
			if _, repeated := again[f.ID]; !repeated {
				all.Failed = append(all.Failed, f)
			}
		}
		if len(again) == 0 || !x.mayRepeat(e, d) {
			all.restore(e.Failed, again)
			break
		}
		ids, list := inOrder(e.Failed, again)
		answer, failure := x.try(ActionCall, x.tool, withMembers(x.arguments, map[string]any{name: list}))
		if failure == nil {
			x.hand(all.add(succeededItems(ids, answer)))
			break
		}
		next, ok := failure.(*recourse.Error)
		if !ok || x.withheld {
			all.restore(e.Failed, again)
			break
		}
		if next = x.settled(next, x.tool); next.Kind != recourse.KindPartial {
			next = asPartial(e, next, ids)
		}
		all.leave(e.Failed, again, next)
		e, items = next, again
	}
	if len(all.Failed) == 0 {
		return all.result(false)
	}
	whole := recourse.Partial(all.Succeeded, all.Failed)
	whole = e.With(func(c *recourse.Error) {
		c.Succeeded, c.Failed, c.Message = whole.Succeeded, whole.Failed, whole.Message
	})
	merged, err := all.result(true)
	if err != nil || len(result) == 0 {
		return nil, whole
	}
	return merged, x.given(whole)
}

// add records items that have succeeded, and returns the new ones.
func (m *merged) add(items []recourse.Succeeded) []recourse.Succeeded {
	known := len(m.Succeeded)
	for _, item := range items {
		if !slices.ContainsFunc(m.Succeeded, func(s recourse.Succeeded) bool { return s.ID == item.ID }) {
			m.Succeeded = append(m.Succeeded, item)
		}
	}
	return m.Succeeded[known:]
}

// without returns the items that have not succeeded.
func (m *merged) without(items map[string]json.RawMessage) map[string]json.RawMessage {
	rest := maps.Clone(items)
	for _, s := range m.Succeeded {
		delete(rest, s.ID)
	}
	return rest
}

// leave records the items that were tried again but are missing from the answer as failed.
func (m *merged) leave(failed []recourse.Failed, again map[string]json.RawMessage, answer *recourse.Error) {
	silent := maps.Clone(again)
	for _, s := range answer.Succeeded {
		delete(silent, s.ID)
	}
	for _, f := range answer.Failed {
		delete(silent, f.ID)
	}
	m.restore(failed, silent)
}

// restore puts back items that are not tried again after all.
func (m *merged) restore(failed []recourse.Failed, again map[string]json.RawMessage) {
	for _, f := range failed {
		if _, ok := again[f.ID]; ok {
			m.Failed = append(m.Failed, f)
		}
	}
}

// result returns the items' outcome as a tool result.
func (m *merged) result(isError bool) (json.RawMessage, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"content":           []any{map[string]string{"type": "text", "text": string(text)}},
		"structuredContent": json.RawMessage(text), "isError": isError,
	})
}

// asPartial turns a failure of the whole call into one of each of its items, in the form of the partial failure before it.
func asPartial(before, e *recourse.Error, ids []string) *recourse.Error {
	failed := make([]recourse.Failed, len(ids))
	for i, id := range ids {
		failed[i] = recourse.Failed{ID: id, Error: e}
	}
	return before.With(func(c *recourse.Error) {
		c.Succeeded, c.Failed, c.RetryAfter, c.Origin, c.RequestID = nil, failed, e.RetryAfter, e.Origin, e.RequestID
	}).CausedBy(e)
}

// itemsAgain returns the items that may succeed on another try, by id, and the longest wait.
func (x *exchange) itemsAgain(failed []recourse.Failed, items map[string]json.RawMessage) (map[string]json.RawMessage, retry.Decision) {
	again := map[string]json.RawMessage{}
	var longest retry.Decision
	nature := x.natureOf(x.tool)
	for _, f := range failed {
		item, there := items[f.ID]
		if f.Error == nil || !there {
			continue
		}
		d := x.policy.Decide(x.settled(f.Error, x.tool), nature, x.attempt, x.left())
		if !d.Repeat {
			continue
		}
		again[f.ID] = item
		if d.Wait >= longest.Wait {
			longest = d
		}
	}
	return again, longest
}

// mayRepeat waits before the retry, and reports false if there is none.
func (x *exchange) mayRepeat(e *recourse.Error, d retry.Decision) bool {
	if !x.options.server.budget.Take() {
		x.note(Step{Action: ActionDecide, Began: x.now(), Failure: e, Reason: "the budget of repetitions is spent"})
		return false
	}
	x.note(Step{Action: ActionDecide, Began: x.now(), Failure: e, Repeat: true, Reason: "items that failed may succeed: " + d.Reason})
	return x.wait(d.Wait, d.Reason)
}

// itemsOf returns the items in an argument of a call by id: the item itself, or its member "id".
func itemsOf(arguments json.RawMessage, name string) map[string]json.RawMessage {
	if name == "" {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(member(arguments, name), &list) != nil {
		return nil
	}
	items := make(map[string]json.RawMessage, len(list))
	for _, item := range list {
		items[idOf(item)] = item
	}
	delete(items, "")
	return items
}

func idOf(item json.RawMessage) string {
	if id := lookup(item, "/id"); id != nil {
		item = id
	}
	if text := textOf(item); text != "" {
		return text
	}
	return string(item)
}

// inOrder returns the items to try again, in the order in which they failed, without duplicates.
func inOrder(failed []recourse.Failed, again map[string]json.RawMessage) (ids []string, items []json.RawMessage) {
	for _, f := range failed {
		if item, ok := again[f.ID]; ok && !slices.Contains(ids, f.ID) {
			ids, items = append(ids, f.ID), append(items, item)
		}
	}
	return ids, items
}

// succeededItems returns the items of a call that has succeeded as a whole, each with its entry in the first list of the
// result that has one for each item. Without such a list, a single item gets the whole result, and several get nothing.
func succeededItems(ids []string, result json.RawMessage) []recourse.Succeeded {
	data := dataOf(result)
	list := listOf(data, len(ids))
	done := make([]recourse.Succeeded, len(ids))
	for i, id := range ids {
		done[i] = recourse.Succeeded{ID: id}
		switch {
		case list != nil:
			done[i].Value = list[i]
		case len(ids) == 1:
			done[i].Value = data
		}
	}
	return done
}

// listOf returns data or the first of its members that is a list of n entries.
func listOf(data json.RawMessage, n int) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil {
		if len(list) == n {
			return list
		}
		return nil
	}
	for _, m := range internaljson.MembersOf(data) {
		if m.Value.Kind() == '[' && json.Unmarshal(m.Value, &list) == nil && len(list) == n {
			return list
		}
	}
	return nil
}
