package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// What the gateway says of a failed call in its own voice it knows by itself: whether the
// call was sent, by the transport; whether it was refused, by the HTTP status and the
// codes of the protocol (the reader leaves nothing else in a record's effect, unless the
// server is trusted); what the tool does to the world, by the entry, the contract and
// trusted annotations. The rest is the server's word, and is told as such.

// settle completes a failure by what the gateway knows of the call, and masks it.
func (x *exchange) settle(e *recourse.Error) *recourse.Error {
	cause := e.Cause()
	e = x.masker().Error(e)
	return e.With(func(c *recourse.Error) {
		c.Effect = x.effect(e)
		if c.Kind == recourse.KindUnknownSession && (x.session != nil || x.answered) && !x.lost {
			// The session is there. A client that was told otherwise would open another, and call again.
			c.Kind, c.Code, c.Contract = recourse.KindClientError, "", ""
		}
		x.ownID(c)
		c.RequestID = x.requestID
		if c.Provider == "" && c.Kind.Class() == recourse.ClassUpstream {
			c.Provider = x.s.Title
		}
		c.Failed = x.settleItems(c.Failed)
		if !x.s.Trusted {
			c.Verify = x.verifyOf(c.Verify)
		}
		if c.Effect == recourse.EffectUnknown && c.Verify == nil && x.rule.Verify != nil {
			c.Verify = verifyOf(x.rule.Verify, x.msg.Arguments, x.shows)
		}
	}).CausedBy(cause)
}

// ownID has a record that names a request name the gateway's: there is one id for a call,
// which every log and answer on its way has, whoever is trusted. What the server calls it is
// of use to the server only.
func (x *exchange) ownID(c *recourse.Error) {
	if c.RequestID != "" && c.RequestID != x.requestID {
		c.Upstream.RequestID = cmp.Or(c.Upstream.RequestID, c.RequestID)
		c.RequestID = x.requestID
	}
}

// settleItems settles the items of a call that has failed in part: which of them can be
// repeated is no more the server's to say than for the whole, unless it is trusted.
func (x *exchange) settleItems(items []recourse.Failed) []recourse.Failed {
	items = slices.Clone(items)
	for i, item := range items {
		if item.Error == nil {
			continue
		}
		items[i].Error = item.Error.With(func(c *recourse.Error) {
			x.ownID(c)
			c.Failed = x.settleItems(c.Failed)
			if x.s.Trusted {
				return
			}
			if effect := x.effect(item.Error); effect == recourse.EffectUnknown {
				c.Effect = effect
			}
			c.Verify = x.verifyOf(c.Verify)
		})
	}
	return items
}

// verifyOf returns the call that a server names as the one that settles an effect, if
// the tool is known to read.
func (x *exchange) verifyOf(v *recourse.Verify) *recourse.Verify {
	if v == nil {
		return nil
	}
	var listed *listedTool
	if x.list != nil {
		if listed = x.list.tools[v.Tool]; listed == nil {
			return nil
		}
	}
	if x.s.natureOf(v.Tool, x.s.Tool(v.Tool), listed) != retry.Reads {
		return nil
	}
	return v
}

// effect returns whether the call changed anything. Of what is not known to the gateway
// itself a server that is trusted is believed: on what it states, and on what follows
// from the kind of its failure.
func (x *exchange) effect(e *recourse.Error) recourse.Effect {
	switch {
	case x.attempts == 0, x.nature == retry.Reads:
		return recourse.EffectNone // nothing was sent, or there is nothing that it could change
	case x.s.Trusted, e.Effect != "", e.Kind == recourse.KindPartial:
		return retry.Effect(e, x.nature)
	default:
		return recourse.EffectUnknown
	}
}

// mayRepeat reports whether a call that had no effect may be made again: it was not sent,
// or the HTTP status itself says that it is a matter of time. That a server says so in
// words is enough where nothing is written, or where the server is trusted.
func (x *exchange) mayRepeat() bool {
	return x.nature != retry.Writes || x.s.Trusted || x.status == 0 || x.status == http.StatusTooManyRequests
}

// lostSession reports whether an answer is the server's word that it does not know the
// session that it was sent, and so did nothing. A 404 is (MCP 2025-11-25,
// basic/transports, "Session Management"). A 400 that says so in words is where the
// session turns out to be gone, since the words alone prove nothing.
func (x *exchange) lostSession(sent string, status int, e *recourse.Error) bool {
	switch {
	case x.session == nil || sent == "":
		return false
	case status == http.StatusNotFound:
		return true
	default:
		return status == http.StatusBadRequest && e.Kind == recourse.KindUnknownSession && x.isGone(sent)
	}
}

// pingTimeout bounds what a server may take to answer a ping.
const pingTimeout = 5 * time.Second

// isGone asks the server whether it knows a session, by a request that does nothing.
func (x *exchange) isGone(session string) bool {
	const maxPong = 64 << 10
	header := x.upstreamHeader()
	header["Content-Type"] = []string{wire.TypeJSON}
	header[wire.HeaderSession] = []string{session}
	id := wire.ID(fmt.Sprintf(`"%s-ping"`, x.requestID))
	ctx, cancel := context.WithTimeout(x.ctx, pingTimeout)
	defer cancel()
	answer, err := x.s.up.Ask(ctx, header, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id), id, maxPong)
	return err == nil && (answer.Status == http.StatusNotFound || answer.Status == http.StatusBadRequest)
}
