package toolcall_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/retry"
)

func TestEffect(t *testing.T) {
	t.Parallel()
	type effect struct {
		recourse.Effect
		recourse.Basis
	}
	var (
		none   = effect{recourse.EffectNone, recourse.BasisKnown}
		onWord = effect{recourse.EffectNone, recourse.BasisStated}
		open   = effect{Effect: recourse.EffectUnknown}
	)
	timeout, conflict := recourse.Timeout("X", 1), recourse.New(recourse.KindConflict, "")
	refused := conflict.WithEffect(recourse.EffectNone)
	setup := recourse.Internal().WithRetry(recourse.RetryAfterSetup)
	unsent := recourse.Unreachable("X").WithEffect(recourse.EffectNone).WithEffectBasis(recourse.BasisStated)
	writes := toolcall.Call{Ran: true, Nature: retry.Writes}
	assumed := toolcall.Call{Ran: true, Nature: retry.Writes, Assumed: true}
	saysReads := assumed
	saysReads.Tool = &toolcall.Entry{ReadOnly: true}
	doubt := toolcall.Call{Ran: true, Nature: retry.Writes, Doubt: true}
	trusted := toolcall.Call{Ran: true, Nature: retry.Writes, Trusted: true}
	wrote := toolcall.Call{Ran: true, Nature: retry.Writes, Trusted: true, Wrote: true}
	for name, test := range map[string]struct {
		call toolcall.Call
		e    *recourse.Error
		want effect
	}{
		"never began":                             {toolcall.Call{Nature: retry.Writes, Trusted: true}, timeout.WithEffect(recourse.EffectApplied), none},
		"a read, whatever is stated":              {toolcall.Call{Ran: true, Nature: retry.Reads, Trusted: true}, timeout.WithEffect(recourse.EffectApplied), none},
		"idempotent":                              {toolcall.Call{Ran: true, Nature: retry.Idempotent, Trusted: true}, timeout, open},
		"trusted: by the kind":                    {trusted, conflict, none},
		"trusted: the stated effect":              {trusted, timeout.WithEffect(recourse.EffectNone), none},
		"trusted: what it has by another's word":  {trusted, unsent, onWord},
		"trusted: a transient fault":              {trusted, timeout, open},
		"untrusted: by the kind":                  {writes, conflict, onWord},
		"untrusted: a protocol error":             {writes, refused, none},
		"untrusted: by a sentence":                {writes, unsent, onWord},
		"untrusted: a transient fault":            {writes, timeout, open},
		"untrusted: a person must act":            {writes, setup, onWord},
		"untrusted: a refusal of any kind":        {writes, recourse.ClientError("X", 418), onWord},
		"untrusted: partial":                      {writes, recourse.New(recourse.KindPartial, ""), effect{recourse.EffectApplied, recourse.BasisStated}},
		"a tool that says it reads, and failed":   {saysReads, recourse.New(recourse.KindJobFailed, ""), onWord},
		"a tool that says it reads, a crash":      {saysReads, timeout, open},
		"a tool that says nothing":                {assumed, timeout, open},
		"an earlier attempt is open":              {doubt, refused, open},
		"an earlier attempt, and a server's word": {doubt, conflict, open},
		"something was written":                   {wrote, conflict, open},
		"a write, but the author states none":     {wrote, refused, none},
		"a write, and the provider states none":   {wrote, refused.WithOrigin(recourse.OriginProvider), open},
	} {
		var got effect
		if got.Effect, got.Basis = test.call.Effect(test.e); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// relayed and own are calls of the same tool: of a server behind the gateway, and of an author's handler.
func relayed() *toolcall.Call {
	call := own()
	call.Relays, call.Trusted, call.Verify = true, false, nil
	call.Reads = func(name string, _ *toolcall.Entry) bool { return name == "order_get" }
	return call
}

func own() *toolcall.Call {
	masker := redact.New(redact.Secrets).Hiding(func() []string { return []string{"hunter22"} })
	list := &toolcall.List{Tools: map[string]*toolcall.Entry{"order_create": {}, "order_get": {}, "order_list": {}}}
	return &toolcall.Call{
		Listed: list.In("order_create"), ID: "ours", Method: "tools/call", Name: "order_create",
		Arguments: json.Value(`{"reference":"A-17","note":"hunter22"}`), Contract: contract.MustBuiltin(contract.Default),
		Masker: func() *redact.Masker { return masker }, Nature: retry.Writes, Ran: true, Trusted: true,
		Verify: &toolcall.Verification{
			Tool: "order_get", From: map[string]string{"reference": "/reference", "note": "/note", "absent": "/absent"},
			With: map[string]any{"full": true}, LookAt: "status",
		},
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	said := recourse.Timeout("X", 1).WithRequestID("theirs").CausedBy(errors.New("why"))
	filled := &recourse.Verify{
		Tool: "order_get", LookAt: "status",
		Args: recourse.Args{}.With("reference", json.Value(`"A-17"`)).With("full", true),
		From: recourse.Args{}.With("note", "/note"), // the secret is for the caller to fill in
	}
	verify := func(tool string) *recourse.Verify { return &recourse.Verify{Tool: tool} }
	with := func(tool string) *recourse.Error {
		return said.With(func(e *recourse.Error) { e.Verify = verify(tool) })
	}
	type settled struct {
		Effect           recourse.Effect
		RequestID, Their string
		Verify           *recourse.Verify
	}
	for name, test := range map[string]struct {
		call *toolcall.Call
		e    *recourse.Error
		want settled
	}{
		"an author's own record":             {own(), said, settled{recourse.EffectUnknown, "theirs", "", filled}},
		"an author who names the call":       {own(), with("order_create"), settled{recourse.EffectUnknown, "theirs", "", verify("order_create")}},
		"a record without an id":             {own(), said.WithRequestID(""), settled{recourse.EffectUnknown, "ours", "", filled}},
		"another program's record":           {relayed(), said, settled{recourse.EffectUnknown, "ours", "theirs", nil}},
		"which names a call that reads":      {relayed(), with("order_get"), settled{recourse.EffectUnknown, "ours", "theirs", verify("order_get")}},
		"which names one that may write":     {relayed(), with("order_list"), settled{recourse.EffectUnknown, "ours", "theirs", nil}},
		"which names an unknown one":         {relayed(), with("order_show"), settled{recourse.EffectUnknown, "ours", "theirs", nil}},
		"a failure that has changed nothing": {own(), said.WithEffect(recourse.EffectNone), settled{recourse.EffectNone, "theirs", "", nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := test.call.Settle(test.e)
			if diff := cmp.Diff(test.want, settled{e.Effect, e.RequestID, e.Upstream.RequestID, e.Verify}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !errors.Is(e, test.e.Kind) || e.Cause() == nil {
				t.Errorf("got %v with the cause %v, want them unchanged", e, e.Cause())
			}
		})
	}
}

// A relayed failure's word on which items can be repeated is not trusted, like its word on the whole call.
func TestSettleItems(t *testing.T) {
	t.Parallel()
	item := recourse.New(recourse.KindConflict, "").WithRequestID("theirs")
	item = item.With(func(e *recourse.Error) { e.Verify = &recourse.Verify{Tool: "order_list"} })
	e := recourse.New(recourse.KindPartial, "").With(func(e *recourse.Error) {
		e.Failed = []recourse.FailedItem{{ID: "1", Error: item}, {ID: "2"}}
	})
	for name, test := range map[string]struct {
		call   *toolcall.Call
		effect recourse.Effect
		id     string
		verify bool
	}{
		"own":     {own(), "", "theirs", true},
		"relayed": {relayed(), recourse.EffectNone, "ours", false},
	} {
		got := test.call.Settle(e).Failed
		if first := got[0].Error; first.Effect != test.effect || first.RequestID != test.id || (first.Verify != nil) != test.verify {
			t.Errorf("%s: effect %q, id %q, verify %v", name, first.Effect, first.RequestID, first.Verify)
		}
		if item.RequestID != "theirs" || e.Failed[0].Error != item {
			t.Errorf("%s: the original record was changed", name)
		}
	}
}

// Another program's text is always masked; an author's text only if the contract hides such details.
func TestSettleMasks(t *testing.T) {
	t.Parallel()
	e := recourse.New(recourse.KindConflict, "The password is hunter22.")
	if got := own().Settle(e).Message; got != e.Message {
		t.Errorf("own: %q", got)
	}
	if got := relayed().Settle(e).Message; got == e.Message {
		t.Errorf("relayed: %q", got)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	call := own()
	call.Tool = &toolcall.Entry{OutputSchema: true}
	got := call.Describe(contract.AtTool)
	if got.Tool != "order_create" || got.At != contract.AtTool || !got.OutputSchema || got.FormatArgument {
		t.Errorf("%+v", got)
	}
	if !got.HasTool("order_get") || got.HasTool("order_show") || !got.Relay.Shows([]byte(`"A-17"`)) || got.Relay.Shows([]byte(`"hunter22"`)) {
		t.Error("has unlisted tools, or shows masked values")
	}
	call.Listed = toolcall.Listed{}
	if call.Describe(contract.AtTool).HasTool != nil {
		t.Error("without a list, some tools are unknown")
	}
}
