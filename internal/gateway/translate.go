package gateway

import (
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// translate writes a call's failure in the contract's form. By then, a success has been sent, byte for byte.
func translate(c *call, next next) *failure {
	f := c.caught(next)
	if f == nil {
		return nil
	}
	if c.member != nil && c.member.relays && !c.reply.Started && c.out.notCharged(f) {
		c.of.free = true // which is read once the answer begins
	}
	lapsed := access.Lapsed(c.ctx)
	if lapsed != nil && !f.Off {
		last := f.Last
		f = c.refuseLapsed(lapsed)
		f.Last = last
	}
	c.write(f, lapsed == nil && c.req.left())
	return nil
}

// write writes a failure; gone says that nobody is left to tell.
func (c *call) write(f *failure, gone bool) {
	failing := c.failing(&f.Last)
	f = c.withStderr(f)
	switch {
	case f.Expected:
		c.reply.Message(f.Status, nil, wire.AppendError(nil, nil, wire.CodeInvalidRequest, f.Err.Sentence(), nil))
	case f.Off:
		c.out.record(failing.effect(f.Err), "answer broken off")
		c.reply.Abort()
	case f.Refusal:
		failing.refuse(f)
	case f.Passed:
		failing.passRefusal(f)
	case f.Text != nil:
		failing.passRPCError(f)
	case gone:
		told := recourse.Cancelled().WithOrigin(recourse.OriginCaller).CausedBy(f.Err)
		c.out.record(failing.effectOf(f.Err, told), "the client has gone")
	case c.who.account.HasLink() && c.req.showsLinks(c.session):
		c.showLink(failing, failing.settle(f.Err))
	default:
		failing.write(f)
	}
}

// lateWords is how long a program's stderr may lag behind its answer, if that does not say what is wrong.
const lateWords = 50 * time.Millisecond

// withStderr returns a failure with what the server's program wrote to stderr meanwhile in its cause, for the operator.
func (c *call) withStderr(f *failure) *failure {
	wait := time.Duration(0)
	if f.Err.Kind == recourse.KindInternal {
		wait = lateWords
	}
	said := c.beside.Said(wait)
	if said == "" {
		return f
	}
	told := *f
	if cause := f.Err.Cause(); cause != nil {
		told.Err = f.Err.CausedBy(fmt.Errorf("%w; %s", cause, said))
	} else {
		told.Err = f.Err.CausedBy(fmt.Errorf("%s", said))
	}
	return &told
}

// leastToMask is how long masking the failures of a call may take even if its time is over.
const leastToMask = time.Second

// masker returns what masks this call's failures, within one budget for all of them and in the time that the call has. Anything in the
// call's own arguments or in the server's entry may be shown, except for secrets.
func (c *call) masker() *redact.Masker {
	if toPerson := c.who.account.Shown(); c.mask == nil || c.shown != toPerson {
		to := c.on.entry
		c.shown = toPerson
		c.mask = redact.New(c.on.redact, string(c.req.msg.Arguments), to.URL+" "+to.BaseURL, strings.Join(to.Command, "\n"), to.Cwd,
			c.req.url(), toPerson).
			Sparing(toPerson).Hiding(c.private().Secrets).With(c.on.contract.Mask...).About(c.req.msg.Arguments).
			ForAnswer(max(c.deadline.Left(), leastToMask))
	}
	return c.mask
}

