package contract

import (
	"reflect"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// The JSON types of members.
const (
	typeString  = "string"
	typeNumber  = "number"
	typeInteger = "integer"
	typeBoolean = "boolean"
	typeObject  = "object"
	typeArray   = "array"
	typeAny     = "any"
)

// jsonTypes are those that a schema knows.
var jsonTypes = []string{typeString, typeNumber, typeInteger, typeBoolean, typeObject, typeArray}

// typeOf names the JSON type of the member that p leads to.
func (p *path) typeOf() string {
	if p.special != nil {
		return p.special.kind
	}
	switch t := p.leaf; {
	case t == rawType:
		return typeAny
	case t == argsType:
		return typeObject
	case t == timeType || t.Kind() == reflect.String:
		return typeString
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return typeString + "[]"
	case t.Kind() == reflect.Slice:
		return typeArray
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return typeInteger
	default:
		return typeObject
	}
}

// typeSchema describes the JSON form of a type of the record.
func typeSchema(t reflect.Type) memberList {
	var s memberList
	t = indirect(t)
	switch {
	case t == rawType:
	case t == argsType || t.Kind() == reflect.Map:
		s.text("type", typeObject)
	case t == timeType:
		s.text("type", typeString)
		s.text("format", "date-time")
	case t.Kind() == reflect.String:
		s.text("type", typeString)
		s.list("enum", wordsOf(t))
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		s.text("type", typeInteger)
	case t.Kind() == reflect.Slice:
		items := typeSchema(t.Elem())
		s.text("type", typeArray)
		s.object("items", items)
	case t.Kind() == reflect.Struct:
		var properties memberList
		for _, name := range membersOfType(t) {
			f, _ := fieldNamed(t, name)
			if indirect(f.Type) == recordType { // a record inside a record
				properties.object(name, memberList{{"$ref", json.Value(`"#"`)}})
				continue
			}
			properties.object(name, typeSchema(f.Type))
		}
		s.text("type", typeObject)
		s.object("properties", properties)
	}
	return s
}

// wordsOf returns the words of a closed set, or nil.
func wordsOf(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[recourse.Kind]():
		return words(recourse.Kinds())
	case reflect.TypeFor[recourse.Retry]():
		return retries
	case reflect.TypeFor[recourse.Effect]():
		return effects
	case reflect.TypeFor[recourse.Origin]():
		return origins
	default:
		return nil
	}
}

// membersOfType returns the members of the JSON form of a struct of the record.
func membersOfType(t reflect.Type) []string {
	switch t {
	case recordType:
		return recordOrder()
	case quotaType:
		return []string{"policy", quotaLimit, "windowMs", quotaRemaining, "resetAt", "partition"}
	}
	var names []string
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
			names = append(names, tag)
		}
	}
	return names
}
