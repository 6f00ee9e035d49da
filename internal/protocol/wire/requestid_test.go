package wire_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

func TestStamp(t *testing.T) {
	t.Parallel()

	const id = `"io.github.recoursehq/requestId":"req-1"`
	for params, want := range map[string]string{
		`{"name":"t"}`:                   `{"_meta":{` + id + `},"name":"t"}`,
		`{ }`:                            `{"_meta":{` + id + `} }`,
		`{"_meta":{},"name":"t"}`:        `{"_meta":{` + id + `},"name":"t"}`,
		`{"_meta":{ "progressToken":1}}`: `{"_meta":{` + id + `, "progressToken":1}}`,
		`{"_meta":{"io.github.recoursehq/requestId":7}}`: `{"_meta":{` + id + `}}`,
		`{"_meta":7}`: `{"_meta":7}`,
		`[1]`:         `[1]`,
	} {
		const head = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`
		var m wire.Message
		if err := wire.Parse([]byte(head+params+"}"), &m); err != nil {
			t.Fatal(err)
		}
		if got := string(wire.Splice(nil, m.Raw, m.Stamp(nil, "req-1")...)); got != head+want+"}" {
			t.Errorf("%s: got %s", params, got[len(head):])
		}
	}
}
