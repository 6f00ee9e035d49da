package wire_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A message alone can show why a server refused it.
func TestRefusedMessages(t *testing.T) {
	t.Parallel()

	tests := []struct {
		text, pointer string
		code          int // 0: nothing
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"foo/bar","params":{}}`, "/method", wire.CodeMethodNotFound},
		{`{"jsonrpc":"2.0","id":1,"method":"prompts/get"}`, "/params", wire.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}`, "", 0},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "", 0},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`, "", 0},
		{`{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled"}`, "/id", wire.CodeInvalidRequest},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, "", 0},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, "", 0},
	}
	for _, test := range tests {
		var m wire.Message
		if err := wire.Parse([]byte(test.text), &m); err != nil {
			t.Fatal(err)
		}
		code, pointer := 0, ""
		if fault := m.Refused(); fault != nil {
			code, pointer = fault.Code, fault.Pointer
		}
		if code != test.code || pointer != test.pointer {
			t.Errorf("%s: %d at %q, want %d at %q", test.text, code, pointer, test.code, test.pointer)
		}
	}
	if (&wire.Message{}).Refused() != nil {
		t.Error("got a reason without a message")
	}
}
