package strictyaml

import "slices"

// Plain turns ordered mappings into Go maps, which JSON libraries know.
func Plain(value any) any {
	switch value := value.(type) {
	case Map[any]:
		m := make(map[string]any, len(value))
		for _, e := range value {
			m[e.Key] = Plain(e.Value)
		}
		return m
	case []any:
		list := slices.Clone(value)
		for i := range list {
			list[i] = Plain(list[i])
		}
		return list
	default:
		return value
	}
}
