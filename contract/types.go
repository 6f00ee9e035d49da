package contract

import "reflect"

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
	case t.Kind() == reflect.Slice:
		return typeArray
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return typeInteger
	default:
		return typeObject
	}
}
