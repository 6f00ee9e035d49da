package terra

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"
)

// health is the data of all users.
//
//go:embed health.json
var health []byte

// table is the data of one tool.
type table struct {
	Title  string                         `json:"title"`
	Doc    string                         `json:"doc"`
	Fields []field                        `json:"fields"`
	Rows   map[string][][]json.RawMessage `json:"rows"` // by user, values in the order of Fields

	rows map[string][]row
}

// field is a column.
type field struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// The types of fields.
const (
	typeTimestamp = "timestamp"
	typeNumber    = "number"
	typeText      = "text"
)

// row is a record by field. Fields that the record lacks are absent.
type row map[string]value

// value is a value of a field: the one of its type, and its original text.
type value struct {
	time   time.Time
	number float64
	text   string
	json   any
}

// compare compares two values of one field.
func (v value) compare(other value) int {
	return cmp.Or(v.time.Compare(other.time), cmp.Compare(v.number, other.number), cmp.Compare(v.text, other.text))
}

// read reads a value of the field; ok is false if it has another type.
func (f field) read(raw json.RawMessage) (v value, ok bool) {
	switch f.Type {
	case typeNumber:
		var n *float64
		if json.Unmarshal(raw, &n) != nil || n == nil {
			return value{}, false
		}
		return value{number: *n, json: *n}, true
	default:
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			return value{}, false
		}
		if f.Type == typeText {
			return value{text: *s, json: *s}, true
		}
		t, ok := parseTimestamp(*s)
		return value{time: t, json: *s}, ok
	}
}

// readTables returns the tables by tool.
func readTables() (map[string]*table, error) {
	var tables map[string]*table
	if err := json.Unmarshal(health, &tables); err != nil {
		return nil, fmt.Errorf("health data: %w", err)
	}
	for tool, t := range tables {
		t.rows = map[string][]row{}
		for user, records := range t.Rows {
			for i, values := range records {
				r, err := t.row(values)
				if err != nil {
					return nil, fmt.Errorf("health data: %s, record %d: %w", tool, i+1, err)
				}
				t.rows[user] = append(t.rows[user], r)
			}
		}
	}
	return tables, nil
}

func (t *table) row(values []json.RawMessage) (row, error) {
	if len(values) != len(t.Fields) {
		return nil, fmt.Errorf("%d values for %d fields", len(values), len(t.Fields))
	}
	r := row{}
	for i, f := range t.Fields {
		if string(values[i]) == "null" {
			continue
		}
		v, ok := f.read(values[i])
		if !ok {
			return nil, fmt.Errorf("%s: %s is no %s", f.Name, values[i], f.Type)
		}
		r[f.Name] = v
	}
	return r, nil
}
