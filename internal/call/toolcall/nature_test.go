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
	reading, repeatable := &toolcall.Entry{ReadOnly: true}, &toolcall.Entry{Idempotent: true}
	both := &toolcall.Entry{ReadOnly: true, Idempotent: true}
	says, denying := toolcall.Profile{ReadOnly: true}, &toolcall.Entry{DeniesReading: true, DeniesIdempotent: true}
	for name, test := range map[string]struct {
		said toolcall.Claims
		want retry.Nature
	}{
		"unstated": {toolcall.Claims{}, retry.Writes},

		"the annotations: reads":          {toolcall.Claims{Annotated: reading}, retry.Reads},
		"the annotations: idempotent":     {toolcall.Claims{Annotated: repeatable}, retry.Idempotent},
		"the annotations: both":           {toolcall.Claims{Annotated: both}, retry.Reads},
		"the annotations: neither":        {toolcall.Claims{Annotated: &toolcall.Entry{}}, retry.Writes},
		"the contract: reads":             {toolcall.Claims{Reads: true}, retry.Reads},
		"the contract before annotations": {toolcall.Claims{Reads: true, Annotated: repeatable}, retry.Reads},

		"the user: reads":                           {toolcall.Claims{ReadOnly: yes}, retry.Reads},
		"the user: writes":                          {toolcall.Claims{ReadOnly: no}, retry.Writes},
		"the user: idempotent":                      {toolcall.Claims{Idempotent: yes}, retry.Idempotent},
		"the user: reads and idempotent":            {toolcall.Claims{ReadOnly: yes, Idempotent: yes}, retry.Reads},
		"the user before the contract":              {toolcall.Claims{ReadOnly: no, Reads: true}, retry.Writes},
		"the user before annotations":               {toolcall.Claims{ReadOnly: no, Annotated: both}, retry.Idempotent},
		"the user, not idempotent":                  {toolcall.Claims{Idempotent: no, Annotated: repeatable}, retry.Writes},
		"the user: idempotent, the contract: reads": {toolcall.Claims{Idempotent: yes, Reads: true}, retry.Reads},

		"the profile: reads":                {toolcall.Claims{Profile: says}, retry.Reads},
		"the profile: idempotent":           {toolcall.Claims{Profile: toolcall.Profile{Idempotent: true}}, retry.Idempotent},
		"the profile: verified":             {toolcall.Claims{Profile: toolcall.Profile{Verified: true}}, retry.Writes},
		"annotations before the profile":    {toolcall.Claims{Profile: says, Annotated: repeatable}, retry.Idempotent},
		"annotations that deny the profile": {toolcall.Claims{Profile: says, Annotated: denying}, retry.Writes},
		"annotations that say nothing":      {toolcall.Claims{Profile: says, Annotated: &toolcall.Entry{}}, retry.Reads},
		"the user before the profile":       {toolcall.Claims{Profile: says, ReadOnly: no}, retry.Writes},
		"a verify call before the profile":  {toolcall.Claims{Profile: says, Verified: true}, retry.Writes},

		"a verify call: writes":                       {toolcall.Claims{Verified: true, Reads: true}, retry.Writes},
		"a verify call before annotations":            {toolcall.Claims{Verified: true, Annotated: both}, retry.Idempotent},
		"a verify call, and the user: reads":          {toolcall.Claims{Verified: true, ReadOnly: yes}, retry.Reads},
		"a verify call, and idempotent":               {toolcall.Claims{Verified: true, Idempotent: yes}, retry.Idempotent},
		"a verify call, the contract and annotations": {toolcall.Claims{Verified: true, Reads: true, Annotated: repeatable}, retry.Writes},
	} {
		if got := test.said.Nature(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
