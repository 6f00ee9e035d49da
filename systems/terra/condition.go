package terra

import (
	"encoding/json"

	"github.com/recoursehq/recourse"
)

// where is a node of a where: and, or, not, or a comparison of a field with a value. A node without
// any of these is empty.
type where struct {
	And      []*where        `json:"and,omitempty"`
	Or       []*where        `json:"or,omitempty"`
	Not      *where          `json:"not,omitempty"`
	Field    string          `json:"field,omitempty"`
	Operator string          `json:"operator,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
}

// The operators of comparisons, besides EQ.
const (
	opNE  = "NE"
	opGT  = "GT"
	opGTE = "GTE"
	opLT  = "LT"
	opLTE = "LTE"
	opIN  = "IN"
)

// filter reports whether a condition holds for a row.
type filter func(row) bool

// everyRow is the filter of an empty condition.
var everyRow filter

// filter converts the condition for a table.
func (c *where) filter(t *table) (filter, error) {
	switch {
	case c == nil || c.parts() == 0:
		return everyRow, nil
	case c.parts() > 1:
		return nil, recourse.InvalidValue("where", "one condition", nil).
			WithMessage("A condition is one of and, or, not and a comparison.")
	case c.And != nil:
		list, err := filters(t, c.And)
		if err != nil || list != nil {
			return all(list), err
		}
		return nil, failure("empty-and", recourse.KindInvalidValue)
	case c.Or != nil:
		list, err := filters(t, c.Or)
		if err != nil || list != nil {
			return some(list), err
		}
		return nil, failure("empty-or", recourse.KindInvalidValue)
	case c.Not != nil:
		inner, err := c.Not.filter(t)
		if err != nil || inner != nil {
			return func(r row) bool { return !inner(r) }, err
		}
		return nil, failure("empty-not", recourse.KindInvalidValue)
	case c.Field == "" || c.Operator == "" || c.Value == nil:
		return nil, recourse.InvalidValue("where", "a whole comparison", nil).
			WithMessage("A comparison needs field, operator and value.")
	}
	return c.comparison(t)
}

// parts counts the forms that the condition has at once.
func (c *where) parts() int {
	n := 0
	for _, is := range []bool{c.And != nil, c.Or != nil, c.Not != nil, c.Field != "" || c.Operator != "" || c.Value != nil} {
		if is {
			n++
		}
	}
	return n
}

// filters converts conditions and leaves out empty ones.
func filters(t *table, conditions []*where) ([]filter, error) {
	var list []filter
	for _, c := range conditions {
		f, err := c.filter(t)
		if err != nil {
			return nil, err
		}
		if f != nil {
			list = append(list, f)
		}
	}
	return list, nil
}

func all(list []filter) filter {
	return func(r row) bool {
		for _, holds := range list {
			if !holds(r) {
				return false
			}
		}
		return true
	}
}

func some(list []filter) filter {
	return func(r row) bool {
		for _, holds := range list {
			if holds(r) {
				return true
			}
		}
		return false
	}
}

// comparison converts a comparison. A field that a record lacks matches no comparison.
func (c *where) comparison(t *table) (filter, error) {
	f, err := t.field(c.Field)
	if err != nil {
		return nil, err
	}
	values, err := c.values(f)
	if err != nil {
		return nil, err
	}
	return func(r row) bool {
		left, ok := r[f.Name]
		if !ok {
			return false
		}
		for _, right := range values {
			if c.accepts(left.compare(right)) {
				return true
			}
		}
		return false
	}, nil
}

// values reads what the field is compared with: one value, or those of an IN.
func (c *where) values(f field) ([]value, error) {
	var list []json.RawMessage
	isList := json.Unmarshal(c.Value, &list) == nil && list != nil
	switch {
	case !isList:
		list = []json.RawMessage{c.Value}
	case f.Type != typeTimestamp:
		return nil, failure("list-not-timestamp", recourse.KindInvalidValue)
	case c.Operator != opIN:
		return nil, failure("list-without-in", recourse.KindInvalidValue)
	case len(list) == 0:
		return nil, failure("empty-in", recourse.KindInvalidValue)
	}
	values := make([]value, 0, len(list))
	for _, raw := range list {
		v, ok := f.read(raw)
		switch {
		case ok:
			values = append(values, v)
		case f.Type == typeTimestamp:
			return nil, recourse.New(recourse.KindInvalidValue, "").WithViolations(recourse.Violation{
				Pointer: "/where", Param: "where", Rule: "timestamp", Want: "an ISO 8601 timestamp", Got: raw,
			})
		default:
			return nil, recourse.InvalidValue("where", "of the field's type", nil).
				WithMessage("%s is compared with a %s.", f.Name, f.Type)
		}
	}
	return values, nil
}

// accepts reports whether the operator holds for a field that is less than a value (-1), equal to it (0) or
// greater (1).
func (c *where) accepts(order int) bool {
	switch c.Operator {
	case opNE:
		return order != 0
	case opGT:
		return order > 0
	case opGTE:
		return order >= 0
	case opLT:
		return order < 0
	case opLTE:
		return order <= 0
	default: // EQ, or a value of an IN
		return order == 0
	}
}
