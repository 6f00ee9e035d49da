package args_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkManyValues checks arguments of many values, all of which are right.
func BenchmarkManyValues(b *testing.B) {
	const texts, rows = `{"properties":{"v":{"type":"array","items":{"type":"string"}}},"required":["v"],"additionalProperties":false}`,
		`{"properties":{"v":{"type":"array","items":{"properties":{"id":{"type":"string"},"area":{"type":"number","minimum":0},"open":{"type":"boolean"}},
		"required":["id"],"additionalProperties":false}}}}`
	var names, members []string
	for i := range 100 {
		names = append(names, fmt.Sprintf(`"field_%d":{"type":"string"}`, i))
		members = append(members, fmt.Sprintf(`"field_%d":"value %d"`, i, i))
	}
	list := func(n int, item string) string { return `{"v":[` + strings.Repeat(item+",", n-1) + item + `]}` }
	const row = `{"id":"A-17","area":4.2,"open":true}`
	for name, of := range map[string]struct{ schema, arguments string }{
		"100 texts":     {texts, list(100, `"FLD-100"`)},
		"100 members":   {`{"properties":{` + strings.Join(names, ",") + `},"additionalProperties":false}`, `{` + strings.Join(members, ",") + `}`},
		"25 objects":    {rows, list(25, row)},
		"1 MB of texts": {texts, list(100_000, `"FLD-100"`)},
		"1 MB of rows":  {rows, list(28_000, row)},
	} {
		b.Run(name, func(b *testing.B) {
			schema, arguments := compile(b, of.schema), []byte(of.arguments)
			b.ReportAllocs()
			b.SetBytes(int64(len(arguments)))
			for b.Loop() {
				if found := schema.Check(context.Background(), arguments); found != nil {
					b.Fatal(found)
				}
			}
		})
	}
}
