package testkit

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Use fills every field of the value at ptr, including unexported ones and those of nested structs and
// arrays, as the most careless user could have left them. A field of an interface type becomes the first of
// the samples that fits. The error names a field that cannot be filled.
func Use(ptr any, samples ...any) error {
	return use(reflect.ValueOf(ptr).Elem(), reflect.TypeOf(ptr).Elem().String(), samples)
}

func use(v reflect.Value, path string, samples []any) error {
	v = accessible(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if err := use(v.Field(i), path+"."+v.Type().Field(i).Name, samples); err != nil {
				return err
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			if err := use(v.Index(i), fmt.Sprintf("%s[%d]", path, i), samples); err != nil {
				return err
			}
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(7)
	case reflect.String:
		v.SetString("another caller's")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 8))
		return use(v.Index(0), path+"[0]", samples)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Pointer: // it may not stay, whatever it points to
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Chan:
		v.Set(reflect.MakeChan(reflect.ChanOf(reflect.BothDir, v.Type().Elem()), 1).Convert(v.Type()))
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Interface:
		for _, sample := range samples {
			if reflect.TypeOf(sample).Implements(v.Type()) {
				v.Set(reflect.ValueOf(sample))
				return nil
			}
		}
		return fmt.Errorf("%s: no sample is a %s", path, v.Type())
	default:
		return fmt.Errorf("%s: no way to fill a %s", path, v.Type())
	}
	return nil
}

// Unlike returns the fields in which used differs from fresh, both pointers to the same type: what a reset
// has left behind of the previous use. Memory beyond the length of a slice does not count, and neither does
// the address of empty values.
func Unlike(used, fresh any) []string {
	v := reflect.ValueOf(used).Elem()
	return unlike(v, reflect.ValueOf(fresh).Elem(), v.Type().String(), nil)
}

func unlike(used, fresh reflect.Value, path string, found []string) []string {
	used, fresh = accessible(used), accessible(fresh)
	switch used.Kind() {
	case reflect.Struct:
		for i := range used.NumField() {
			found = unlike(used.Field(i), fresh.Field(i), path+"."+used.Type().Field(i).Name, found)
		}
		return found
	case reflect.Array:
		for i := range used.Len() {
			found = unlike(used.Index(i), fresh.Index(i), fmt.Sprintf("%s[%d]", path, i), found)
		}
		return found
	case reflect.Slice, reflect.Map:
		if used.Len() == 0 && fresh.Len() == 0 || reflect.DeepEqual(used.Interface(), fresh.Interface()) {
			return found
		}
	case reflect.Func:
		if used.IsNil() && fresh.IsNil() {
			return found
		}
	default:
		if reflect.DeepEqual(used.Interface(), fresh.Interface()) {
			return found
		}
	}
	return append(found, path)
}

// accessible returns v in a form that can be read and set, even if it is an unexported field.
func accessible(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}
