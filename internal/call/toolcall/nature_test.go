package toolcall_test

import (
	"testing"

	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/retry"
)

// A tool's nature comes from the first of these that states it: the user, the contract, the annotations. Without any,
// the tool writes.
func TestNature(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	reading, repeatable := &toolcall.Tool{ReadOnly: true}, &toolcall.Tool{Idempotent: true}
	both := &toolcall.Tool{ReadOnly: true, Idempotent: true}
	for name, test := range map[string]struct {
		said toolcall.Said
		want retry.Nature
	}{
		"unstated": {toolcall.Said{}, retry.Writes},

		"the annotations: reads":          {toolcall.Said{Annotated: reading}, retry.Reads},
		"the annotations: idempotent":     {toolcall.Said{Annotated: repeatable}, retry.Idempotent},
		"the annotations: both":           {toolcall.Said{Annotated: both}, retry.Reads},
		"the annotations: neither":        {toolcall.Said{Annotated: &toolcall.Tool{}}, retry.Writes},
		"the contract: reads":             {toolcall.Said{Reads: true}, retry.Reads},
		"the contract before annotations": {toolcall.Said{Reads: true, Annotated: repeatable}, retry.Reads},

		"the user: reads":                           {toolcall.Said{ReadOnly: yes}, retry.Reads},
		"the user: writes":                          {toolcall.Said{ReadOnly: no}, retry.Writes},
		"the user: idempotent":                      {toolcall.Said{Idempotent: yes}, retry.Idempotent},
		"the user: reads and idempotent":            {toolcall.Said{ReadOnly: yes, Idempotent: yes}, retry.Reads},
		"the user before the contract":              {toolcall.Said{ReadOnly: no, Reads: true}, retry.Writes},
		"the user before annotations":               {toolcall.Said{ReadOnly: no, Annotated: both}, retry.Idempotent},
		"the user, not idempotent":                  {toolcall.Said{Idempotent: no, Annotated: repeatable}, retry.Writes},
		"the user: idempotent, the contract: reads": {toolcall.Said{Idempotent: yes, Reads: true}, retry.Reads},

		"a verify call: writes":                       {toolcall.Said{Verified: true, Reads: true}, retry.Writes},
		"a verify call before annotations":            {toolcall.Said{Verified: true, Annotated: both}, retry.Idempotent},
		"a verify call, and the user: reads":          {toolcall.Said{Verified: true, ReadOnly: yes}, retry.Reads},
		"a verify call, and idempotent":               {toolcall.Said{Verified: true, Idempotent: yes}, retry.Idempotent},
		"a verify call, the contract and annotations": {toolcall.Said{Verified: true, Reads: true, Annotated: repeatable}, retry.Writes},
	} {
		if got := test.said.Nature(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
