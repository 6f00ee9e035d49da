package contractform

import (
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// An Expectation is what a success of a tool looks like: there is something at Path in the data of its answer. If
// NotEmptyFor is set and the call has the argument there, that is a list with an item; if Equals is, it is that argument.
type Expectation struct {
	Path        string
	NotEmptyFor string // JSON Pointer into the arguments
	Equals      string // JSON Pointer into the arguments
}

// Unmet returns the failure of a call whose answer says success and does not meet an expectation; nil: it meets all. result
// is the tool's result, and title what the server is called.
func Unmet(list []Expectation, title string, result, arguments json.Value) *recourse.Error {
	if len(list) == 0 {
		return nil
	}
	data, err := valueOf(DataOf(result))
	why := "it is no JSON"
	if err == nil {
		why = ""
		for i := 0; i < len(list) && why == ""; i++ {
			why = list[i].unmet(data, arguments)
		}
	}
	if why == "" {
		return nil
	}
	return recourse.BadResponse(title).WithOrigin(recourse.OriginServer).
		WithMessage("%s said success, but its answer does not look like one: %s.", orServer(title), why)
}

func orServer(title string) string {
	if title == "" {
		return "The server"
	}
	return title
}

// unmet says in a clause why data does not meet x; "": it does.
func (x *Expectation) unmet(data any, arguments json.Value) string {
	pointer := x.NotEmptyFor + x.Equals // one of them at most
	want := any(nil)
	if pointer != "" {
		var err error
		if want, err = valueOf(json.Lookup(arguments, json.Pointer(pointer))); err != nil || want == nil {
			return "" // the call does not ask for it
		}
	}
	found, _ := find(data, pathOf(x.Path))
	switch {
	case len(found) == 0:
		return "it has no " + x.Path
	case x.NotEmptyFor != "":
		if list, ok := found[0].([]any); !ok || len(list) == 0 {
			return fmt.Sprintf("%s is empty, although the call names %s", x.Path, pointer)
		}
	case x.Equals != "":
		for _, value := range found {
			if reflect.DeepEqual(value, want) || scalar(value) != "" && scalar(value) == scalar(want) {
				return ""
			}
		}
		return fmt.Sprintf("%s is not the %s of the call", x.Path, pointer)
	}
	return ""
}

// scalar returns the text of a text or number: ids are written as either.
func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return ""
	}
}

// DataOf returns the data of a tool's result: its structured content, or the JSON in its first text; nil if it has neither.
func DataOf(result json.Value) json.Value {
	if raw := json.Lookup(result, "/structuredContent"); raw.Kind() == '{' {
		return raw
	}
	if text := json.Text(result, "/content/0/text"); stdjson.Valid([]byte(text)) { // clients take repeated names
		return json.Value(text)
	}
	return nil
}
