package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/pause"
	claims "github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

var errNoBeat = errors.New("the store has not been reached for too long")

// settle finds out what became of a call that may have happened. again says that the question is to be asked anew.
func (k *keyed) settle(row *claims.Row, next next) (f *failure, again bool) {
	k.call.out.before = true
	if k.recognised() {
		return k.resend(row, next)
	}
	looked := k.look()
	grace := k.rule.Grace - k.call.g.ledger.DoubtedFor(row)
	switch {
	case looked.landed:
		return k.landed(row, looked.answer), false
	case !looked.known:
		return k.unknown(row, 0), false
	case grace <= 0:
		return k.resend(row, next)
	case grace < k.patience():
		if pause.For(k.call.ctx, grace) {
			return nil, true // and looks again
		}
	}
	return k.unknown(row, grace), false
}

// lookEarly finds out whether a call has happened whose answer may still come: if not, it is waited for, and nothing is sent.
func (k *keyed) lookEarly(row *claims.Row) (f *failure, ended bool) {
	k.ask.Looked = true
	if looked := k.look(); looked.landed {
		k.call.out.before = true
		return k.landed(row, looked.answer), true
	}
	return nil, false
}

// resend makes the call once more, unless somebody else does.
func (k *keyed) resend(row *claims.Row, next next) (f *failure, again bool) {
	claim, err := k.call.g.ledger.Resend(k.call.ctx, row, &k.ask)
	switch {
	case err != nil:
		return k.noStore(err), false
	case claim == nil:
		return nil, true
	}
	k.call.out.before = false
	f = k.carry(claim, next)
	k.call.out.Once = "sent again"
	return f, false
}

// landed answers a call that has happened, by what the verify call says.
func (k *keyed) landed(row *claims.Row, text []byte) *failure {
	k.call.out.Once = "landed"
	kept := ""
	if t := k.call.rule.listed.Tool; text != nil && len(text) <= maxKeptAnswer && (t == nil || !t.OutputSchema) {
		kept = k.seal(text)
	}
	if err := k.call.g.ledger.Landed(k.call.ctx, row, kept, "the verify call found it"); err != nil {
		return k.noStore(err)
	}
	if kept == "" {
		return k.known(row)
	}
	f := k.pass(text, verifiedMark)
	row.State, row.Answer = claims.Answered, kept
	k.noteDelivered(f, row)
	return f
}

// A looked is what the verify call has found out.
type looked struct {
	known, landed bool
	answer        []byte // the whole message; nil: there is no such thing
}

// lookTime limits a verify call.
const lookTime = 20 * time.Second

// look makes the verify call.
func (k *keyed) look() looked {
	of := k.call.failing(new(end)).known
	v := of.Look()
	if v == nil || k.call.on.mayWrite(v.Tool) {
		return looked{}
	}
	arguments, err := v.Args.MarshalJSON()
	if err != nil {
		return looked{}
	}
	ctx, cancel := context.WithTimeout(k.call.ctx, min(lookTime, k.patience()))
	defer cancel()
	message, failed := k.inquire(ctx, v.Tool, arguments)
	result := json.Lookup(message, "/result")
	switch {
	case failed != nil && failed.Kind == recourse.KindNotFound:
		result, message = nil, nil
	case failed != nil, result.Kind() != '{':
		return looked{}
	}
	landed, known := of.Landed(result)
	return looked{known: known, landed: known && landed, answer: message}
}

// mayWrite reports whether somebody who is trusted says that a tool writes.
func (on *endpoint) mayWrite(tool string) bool {
	entry := on.entry.Tool(tool)
	return entry.Once != nil || entry.ReadOnly != nil && !*entry.ReadOnly || on.contract.Writes(tool)
}

// inquire calls another tool of the server for the same caller, and returns the whole answer, or why it failed.
func (k *keyed) inquire(ctx context.Context, tool string, arguments []byte) (message []byte, failed *recourse.Error) {
	c := k.call
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.g.nested(ctx, c.on.entry.Title, func(ctx context.Context, n *call) error {
		return k.prepare(ctx, n, c.req.inquiry(tool, arguments))
	})
	if err != nil {
		return nil, recourse.From(err)
	}
	defer func() { _ = resp.Close() }()
	if resp.Failure != nil {
		return nil, resp.Failure
	}
	messages := wire.NewMessageReader(resp, maxRefused)
	for part := range messages.Whole() {
		if part.Kind == wire.Response {
			return bytes.Clone(part.Data), nil
		}
	}
	return nil, c.on.broken(ctx, messages.End())
}

// prepare makes n the call that another message makes for the same caller.
func (k *keyed) prepare(ctx context.Context, n *call, body []byte) error {
	c, header := k.call, http.Header{}
	maps.Copy(header, c.req.header)
	header["Content-Type"] = []string{wire.TypeJSON} // a host on stdio sends none
	n.req.come(ctx, http.MethodPost, header, c.req.from)
	if !n.hold(c.on) {
		return c.on.removed()
	}
	n.req.id, n.req.era, n.req.user, n.req.inquires = c.req.id, c.req.era, c.req.user, true
	n.req.stdio = true // no client has written its headers: those that mirror arguments are for the gateway to make
	n.who, n.session, n.req.body = c.who, c.session, body
	if err := n.req.parse(); err != nil {
		return internal(err)
	}
	for name := range header {
		if strings.HasPrefix(name, wire.HeaderParamPrefix) {
			delete(header, name)
		}
	}
	if c.req.era == wire.Modern {
		wire.SetHeaders(header, n.req.msg.ProtocolVersion, n.req.msg)
	}
	return nil
}

// inquiry returns the message that calls another tool.
func (r *request) inquiry(tool string, arguments []byte) []byte {
	meta := json.Without(r.msg.Meta, "progressToken")
	for _, name := range claims.KeyMembers {
		meta = json.Without(meta, name)
	}
	var params json.Members
	params.Text("name", tool)
	params.Add("arguments", arguments)
	params.Some("_meta", meta)
	id := wire.ID(fmt.Sprintf("%q", r.id+"-verify"))
	return wire.AppendRequest(nil, id, wire.MethodToolsCall, params.AppendTo(nil))
}

// tell answers with a failure of the gateway's own.
func (k *keyed) tell(what string, e *recourse.Error) *failure {
	k.call.out.Once = what
	return answer.Settled(e.WithOrigin(recourse.OriginGateway))
}

// underWay is the failure of a call that cannot wait any longer for the same one.
func (k *keyed) underWay(wait time.Duration) *failure {
	return k.tell("in flight", toolcall.OnceUnderWay(wait))
}

// unknown is the failure of a call that may have happened, and is not sent.
func (k *keyed) unknown(row *claims.Row, wait time.Duration) *failure {
	return k.tell("unknown", toolcall.OnceUnknown(row, wait))
}

// known is the failure of a call that has happened, and whose answer is not there any more.
func (k *keyed) known(row *claims.Row) *failure {
	k.call.out.before = true
	return k.tell("known", toolcall.OnceKnown(row))
}

// conflicts is the failure of a call whose key belongs to another one.
func (k *keyed) conflicts(row *claims.Row) *failure {
	k.call.out.Once = "conflict"
	return answer.Settled(toolcall.OnceConflict(row, k.call.req.msg.Arguments))
}
