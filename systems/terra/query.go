package terra

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
)

// query holds the arguments of the tools.
type query struct {
	Fields []string    `json:"fields,omitempty"`
	Select []aggregate `json:"select,omitempty"`
	Where  *where      `json:"where,omitempty"`
}

// aggregate is a number computed from a field of all records.
type aggregate struct {
	Function string `json:"function"`
	Field    string `json:"field"`
}

// The functions of aggregates.
const (
	functionCount = "count"
	functionSum   = "sum"
	functionAvg   = "avg"
	functionMin   = "min"
	functionMax   = "max"
)

// run answers the query. The shape of the query is checked before its names, and the names before the
// conditions.
func (q query) run(t *table, rows []row) ([]map[string]any, error) {
	switch hasFields, hasSelect := len(q.Fields) > 0, len(q.Select) > 0; {
	case !hasFields && !hasSelect:
		return nil, recourse.Missing("fields", "select")
	case hasFields && hasSelect:
		return nil, recourse.Conflicting("fields", "select")
	}
	if err := q.checkNames(t); err != nil {
		return nil, err
	}
	holds, err := q.Where.filter(t)
	if err != nil {
		return nil, err
	}
	if holds != nil {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !holds(r) })
	}
	if len(q.Select) > 0 {
		return []map[string]any{aggregates(rows, q.Select)}, nil
	}
	data := make([]map[string]any, 0, len(rows))
	for _, r := range rows {
		record := make(map[string]any, len(q.Fields))
		for _, name := range q.Fields {
			record[name] = r[name].json
		}
		data = append(data, record)
	}
	return data, nil
}

func (q query) checkNames(t *table) error {
	for _, name := range q.Fields {
		if _, err := t.field(name); err != nil {
			return err
		}
	}
	for _, a := range q.Select {
		f, err := t.field(a.Field)
		if err != nil {
			return err
		}
		if f.Type != typeNumber && a.Function != functionCount {
			return recourse.InvalidValue("select", "of numbers", nil).
				WithMessage("%s takes a field of numbers, and %s is a %s.", a.Function, f.Name, f.Type)
		}
	}
	return nil
}

// aggregates returns the numbers by function and field, such as avg_steps. If no record has a value the
// number is null, except for a count.
func aggregates(rows []row, list []aggregate) map[string]any {
	result := make(map[string]any, len(list))
	for _, a := range list {
		values := make([]float64, 0, len(rows))
		for _, r := range rows {
			if v, ok := r[a.Field]; ok {
				values = append(values, v.number)
			}
		}
		result[a.Function+"_"+a.Field] = a.of(values)
	}
	return result
}

func (a aggregate) of(values []float64) any {
	if a.Function == functionCount {
		return len(values)
	}
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	switch a.Function {
	case functionSum:
		return sum
	case functionAvg:
		return sum / float64(len(values))
	case functionMin:
		return slices.Min(values)
	default:
		return slices.Max(values)
	}
}

// field returns the field of that name.
func (t *table) field(name string) (field, error) {
	i := slices.IndexFunc(t.Fields, func(f field) bool { return f.Name == name })
	if i < 0 {
		return field{}, recourse.InvalidValue("fields", "a field of the tool", nil).
			WithMessage("There is no field %q here. The fields are %s.", name, strings.Join(t.names(), ", "))
	}
	return t.Fields[i], nil
}

func (t *table) names() []string {
	names := make([]string, 0, len(t.Fields))
	for _, f := range t.Fields {
		names = append(names, f.Name)
	}
	return names
}

// describe returns the description of the tool.
func (t *table) describe() string {
	list := make([]string, 0, len(t.Fields))
	for _, f := range t.Fields {
		list = append(list, fmt.Sprintf("%s (%s)", f.Name, f.Type))
	}
	return t.Doc + " Name the fields, or aggregate them with select. The fields are " + strings.Join(list, ", ") + "."
}

// inputSchema is the schema of every tool. The query itself checks fields and select together, and
// conditions.
//
//go:embed query.schema.json
var inputSchema json.RawMessage
