package recovery

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	internaljson "github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/retry"
)

// merged is what became of a batch's items over all attempts.
type merged struct {
	Succeeded []recourse.SucceededItem `json:"succeeded"`
	Failed    []recourse.FailedItem    `json:"failed"`
}

// repeatItems ends a call that has failed in part: it repeats the call with only those failed items that may succeed. An item that an
// answer does not mention has failed.
func (x *errand) repeatItems(result json.RawMessage, e *recourse.Error) (json.RawMessage, error) {
	all := merged{Succeeded: []recourse.SucceededItem{}, Failed: []recourse.FailedItem{}}
	name := x.batchArgument(e)
	asked, items := itemsOf(x.arguments, name)
	for {
		x.hand(all.add(e.Succeeded))
		again, d := x.itemsAgain(e, all.without(items))
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
			found := answerOf(ids, dataOf(answer))
			x.hand(all.add(found.items))
			all.restore(e.Failed, found.silent(again))
			all.complete(asked)
			if len(all.Failed) == 0 {
				return all.success(asked, answer, found)
			}
			break
		}
		next, ok := failure.(*recourse.Error)
		if !ok || x.withheld {
			all.restore(e.Failed, again)
			break
		}
		if next = x.settled(next, x.tool); next.Kind != recourse.KindPartial && !x.tellsItems(next) {
			next = asPartial(e, next, ids)
		}
		all.leave(e.Failed, again, next)
		e, items = next, again
	}
	all.complete(asked)
	if len(all.Failed) == 0 {
		return all.result(false)
	}
	whole := x.whole(e, &all)
	merged, err := all.result(true)
	if err != nil || len(result) == 0 {
		return nil, whole
	}
	return merged, x.given(whole)
}

// tellsItems reports whether a failure of a whole batch says how each item failed: then the first item's code, which it may have as
// its own, does not decide about the others.
func (x *errand) tellsItems(e *recourse.Error) bool {
	return len(e.Failed) > 0 && x.batchArgument(e) != ""
}

// whole returns what the batch has failed with, over all attempts. Where some items have succeeded, that is a partial failure.
func (x *errand) whole(e *recourse.Error, all *merged) *recourse.Error {
	partial := recourse.Partial(all.Succeeded, all.Failed)
	if e.Kind != recourse.KindPartial && len(all.Succeeded) > 0 {
		return x.contract.Write(partial.WithOrigin(e.Origin), &contract.Call{}).Record
	}
	return e.With(func(c *recourse.Error) {
		c.Succeeded, c.Failed = partial.Succeeded, partial.Failed
		if e.Kind == recourse.KindPartial {
			c.Message = partial.Message
		}
	})
}

// batchArgument returns the argument that lists the items: by the contract, or else the only one whose items the failure is about; ""
// if there is none.
func (x *errand) batchArgument(e *recourse.Error) string {
	if name := x.contract.BatchArgument(x.tool); name != "" {
		return name
	}
	found := ""
	for _, m := range internaljson.MembersOf(internaljson.Value(x.arguments)) {
		_, items := itemsOf(x.arguments, m.Name)
		has := func(id string) bool { _, ok := items[id]; return ok }
		switch {
		case len(e.Succeeded)+len(e.Failed) == 0,
			slices.ContainsFunc(e.Succeeded, func(s recourse.SucceededItem) bool { return !has(s.ID) }),
			slices.ContainsFunc(e.Failed, func(f recourse.FailedItem) bool { return !has(f.ID) }):
		case found != "":
			return ""
		default:
			found = m.Name
		}
	}
	return found
}

// complete records the items as failed that were asked for, and of which no answer says anything.
func (m *merged) complete(asked []string) {
	for _, id := range asked {
		if !slices.ContainsFunc(m.Succeeded, func(s recourse.SucceededItem) bool { return s.ID == id }) &&
			!slices.ContainsFunc(m.Failed, func(f recourse.FailedItem) bool { return f.ID == id }) {
			m.Failed = append(m.Failed, recourse.FailedItem{ID: id, Error: recourse.BadResponse("").WithOrigin(recourse.OriginServer).
				WithMessage("The answer does not say what became of it.")})
		}
	}
}

// add records items that have succeeded, and returns the new ones: those that an earlier answer does not have.
func (m *merged) add(items []recourse.SucceededItem) []recourse.SucceededItem {
	earlier := m.Succeeded
	for _, item := range items {
		if !slices.ContainsFunc(earlier, func(s recourse.SucceededItem) bool { return s.ID == item.ID }) {
			m.Succeeded = append(m.Succeeded, item)
		}
	}
	return m.Succeeded[len(earlier):]
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
func (m *merged) leave(failed []recourse.FailedItem, again map[string]json.RawMessage, answer *recourse.Error) {
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
func (m *merged) restore(failed []recourse.FailedItem, again map[string]json.RawMessage) {
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
	failed := make([]recourse.FailedItem, len(ids))
	for i, id := range ids {
		failed[i] = recourse.FailedItem{ID: id, Error: e}
	}
	return before.With(func(c *recourse.Error) {
		c.Succeeded, c.Failed, c.RetryAfter, c.Origin, c.RequestID = nil, failed, e.RetryAfter, e.Origin, e.RequestID
	}).CausedBy(e)
}

// itemsAgain returns the items that may succeed on another try, by id, and the longest wait. What the whole failure says of the wait
// holds for each of them.
func (x *errand) itemsAgain(e *recourse.Error, items map[string]json.RawMessage) (map[string]json.RawMessage, retry.Decision) {
	again := map[string]json.RawMessage{}
	var longest retry.Decision
	nature := x.natureOf(x.tool)
	for _, f := range e.Failed {
		item, there := items[f.ID]
		if f.Error == nil || !there {
			continue
		}
		of := x.settled(f.Error, x.tool)
		if e.RetryAfter > of.RetryAfter {
			of = of.WithRetryAfter(e.RetryAfter)
		}
		d := x.policy.Decide(of, nature, x.attempt, x.left())
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
func (x *errand) mayRepeat(e *recourse.Error, d retry.Decision) bool {
	if !x.options.server.budget.Take() {
		x.note(Step{Action: ActionDecide, Began: x.now(), Failure: e, Reason: "the budget of repetitions is spent"})
		return false
	}
	x.note(Step{Action: ActionDecide, Began: x.now(), Failure: e, Repeat: true, Reason: "items that failed may succeed: " + d.Reason})
	return x.wait(d.Wait, d.Reason)
}

// itemsOf returns the ids of the items in an argument of a call, in their order, and the items by id: the item itself, or its member
// "id".
func itemsOf(arguments json.RawMessage, name string) (ids []string, items map[string]json.RawMessage) {
	var list []json.RawMessage
	if name == "" || json.Unmarshal(member(arguments, name), &list) != nil {
		return nil, nil
	}
	items = make(map[string]json.RawMessage, len(list))
	for _, item := range list {
		id := idOf(item)
		if _, twice := items[id]; id != "" && !twice {
			ids, items[id] = append(ids, id), item
		}
	}
	return ids, items
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
func inOrder(failed []recourse.FailedItem, again map[string]json.RawMessage) (ids []string, items []json.RawMessage) {
	for _, f := range failed {
		if item, ok := again[f.ID]; ok && !slices.Contains(ids, f.ID) {
			ids, items = append(ids, f.ID), append(items, item)
		}
	}
	return ids, items
}
