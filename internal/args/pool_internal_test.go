package args

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// A parser that has read one caller's arguments holds nothing of them when it is given
// to the next, up to the lengths of what it keeps.
func TestParsersHoldNothing(t *testing.T) {
	t.Parallel()

	const secret = "another caller's"
	text := `{"` + secret + `":{"` + secret + `":["` + secret + `"]},"rest":[` + strings.Repeat(`{"`+secret+`":1},`, 40) + `"` + secret
	for _, input := range []string{text + `"]}`, text} { // the second one ends too early
		p := newParser()
		_, _ = p.parse([]byte(input))
		if at := holds(reflect.ValueOf(p), secret, "parser", map[uintptr]bool{}); at != "" {
			t.Errorf("%.20s...: %s holds the arguments", input, at)
		}
	}
}

// holds returns where the secret can be reached from v.
func holds(v reflect.Value, secret, path string, seen map[uintptr]bool) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			return ""
		}
		seen[v.Pointer()] = true
		return holds(v.Elem(), secret, path, seen)
	case reflect.Interface:
		return holds(v.Elem(), secret, path, seen)
	case reflect.Struct:
		for i := range v.NumField() {
			if at := holds(v.Field(i), secret, path+"."+v.Type().Field(i).Name, seen); at != "" {
				return at
			}
		}
	case reflect.String:
		if strings.Contains(v.String(), secret) {
			return path
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Len() > 0 && strings.Contains(unsafe.String((*byte)(v.UnsafePointer()), v.Len()), secret) {
				return path
			}
			return ""
		}
		for i := range v.Len() {
			if at := holds(v.Index(i), secret, path, seen); at != "" {
				return at
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if at := holds(key, secret, path, seen); at != "" {
				return at
			}
		}
	default:
	}
	return ""
}
