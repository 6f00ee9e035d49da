package gateway

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/wire"
)

// A client that has said so can show its person a link (URL mode elicitation): then the link need not pass through the model.
// In the modern era the call is answered with a question, and made again with the client's answer. In the legacy era it fails
// with the code -32042, and a notification says when it can be made again.

// inputRequired is the type of results that ask the client something (MCP 2026-07-28, "Multi Round-Trip Requests").
const inputRequired = "input_required"

// linkQuestion names the question in a result, and begins the state that the client brings back with its answer.
const linkQuestion = "io.github.recoursehq/connect"

const (
	// linkWait bounds how long a call that is made again waits for the person, who may only just have opened the link.
	linkWait = 30 * time.Second
	// noticeWait bounds how long a client without an open stream is waited for, to tell it that an account is connected.
	noticeWait = time.Minute
	// noticePause is how often it is looked for. The first time comes when the person sees the page that says so.
	noticePause = 100 * time.Millisecond
	// maxNotices bounds the accounts that are waited for on behalf of clients, and maxSessionNotices those of one session.
	maxNotices        = 1000
	maxSessionNotices = 16
)

// showsLinks reports whether the client can show its person a link.
func (c *call) showsLinks() bool {
	var declared json.Value
	switch {
	case !c.req.isCall():
	case c.req.era == wire.Modern:
		declared = json.Lookup(c.req.msg.ClientCapabilities, "/elicitation/url")
	case c.session != nil:
		declared = json.Lookup(c.session.open, "/params/capabilities/elicitation/url")
	}
	return declared.Kind() == '{'
}

// showLink ends a call for which an account has to be connected by asking the client to show the link.
func (c *call) showLink(e *recourse.Error) {
	record := c.on.contract.Write(e, c.contractCall(e, 0)).Record.CausedBy(e.Cause())
	c.record(record, "the client is asked to show its person the link")
	form, err := record.MarshalJSON()
	if err != nil {
		form = nil
	}
	a := &c.account
	var question, data, result json.Members
	question.Text("mode", "url")
	question.Text("url", a.link)
	question.Text("message", a.why)
	if c.req.era != wire.Modern {
		id := a.invitation.ID
		question.Text("elicitationId", id)
		data.Add("elicitations", append(question.AppendTo([]byte{'['}), ']'))
		data.Add(recourse.MetaKey, form)
		c.out.form = strconv.Itoa(wire.CodeURLElicitation)
		c.noticeWhenConnected(id)
		c.reply.message(http.StatusOK, wire.AppendError(nil, c.req.msg.ID, wire.CodeURLElicitation, e.Sentence(), data.AppendTo(nil)))
		return
	}
	var asked, meta json.Members
	asked.Text("method", wire.MethodElicit)
	asked.Object("params", question)
	meta.Add(recourse.MetaKey, form)
	result.Text("resultType", inputRequired)
	result.Object("inputRequests", json.Members{{Name: linkQuestion, Value: asked.AppendTo(nil)}})
	result.Text(requestState, strings.Join(append([]string{linkQuestion, strconv.FormatInt(a.Version, 10)}, a.scopes...), " "))
	result.Object("_meta", meta)
	c.out.form = inputRequired
	c.reply.message(http.StatusOK, wire.AppendResult(nil, c.req.msg.ID, result.AppendTo(nil)))
}

// A linkAnswer is the client's answer to the question of showLink, and the state that comes with it. Who changes that state
// changes how long the call waits, and nothing else, so that it is not sealed.
type linkAnswer struct {
	accepted, declined bool

	after  int64 // the version of the account that did not do
	scopes []string
}

// takeLinkAnswer takes the client's answer out of a request, which is none of the server's business.
func (c *call) takeLinkAnswer() *recourse.Error {
	if c.req.era != wire.Modern || !c.req.isCall() || !bytes.Contains(c.req.body, []byte(linkQuestion)) {
		return nil
	}
	params := json.Value(c.req.msg.Params)
	switch string(json.Lookup(params, "/inputResponses/io.github.recoursehq~1connect/action")) {
	case "":
		return nil
	case `"accept"`:
		c.account.answer.accepted = true
	default:
		c.account.answer.declined = true
	}
	params = json.Change(params, "inputResponses", func(answers json.Value) json.Value {
		if answers = json.Without(answers, linkQuestion); string(answers) == "{}" {
			return nil
		}
		return answers
	})
	params = json.Change(params, requestState, func(state json.Value) json.Value {
		var text string
		_ = json.Unmarshal(state, &text) // else it is none of ours
		words := strings.Fields(text)
		if len(words) < 2 || words[0] != linkQuestion {
			return state
		}
		c.account.answer.after, _ = strconv.ParseInt(words[1], 10, 64) // else 0: any version does
		c.account.answer.scopes = words[2:]
		return nil
	})
	c.req.body = wire.Splice(nil, c.req.body, wire.Edit{At: c.req.msg.ParamsAt, With: params})
	if err := wire.Parse(c.req.body, &c.req.msg); err != nil {
		return recourse.Internal().WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(err)
	}
	return nil
}

// awaitAccount waits for the person who has been shown the link: a client that is asked again at once would show it again.
func (c *call) awaitAccount() {
	a := &c.account
	if a.missing == nil && a.Version > a.answer.after {
		return
	}
	c.deadline.suspend()
	ctx, cancel := context.WithTimeout(c.ctx, min(linkWait, c.deadline.left()/2))
	defer cancel()
	if c.g.reach.Connections.Await(ctx, &c.provider().Provider, c.owner(), a.answer.after, a.answer.scopes) == nil {
		c.lookUp(c.ctx)
	}
	c.deadline.alive()
}

// noticeWhenConnected has the client told when the account is connected (MCP 2025-11-25, "Completion Notifications for URL Mode
// Elicitation").
func (c *call) noticeWhenConnected(id string) {
	g, s, p := c.g, c.session, &c.provider().Provider
	owner, after, scopes := c.owner(), c.account.Version, c.account.scopes
	if !s.expects(id) {
		return
	}
	select {
	case g.notices <- struct{}{}:
	default: // the client can still try again
		s.expectsNoMore(id)
		return
	}
	g.background(connection.LinkTime, func(ctx context.Context) {
		defer func() { <-g.notices }()
		defer s.expectsNoMore(id)
		if g.reach.Connections.Await(ctx, p, owner, after, scopes) != nil {
			return
		}
		params := append(json.AppendQuote([]byte(`{"elicitationId":`), id), '}')
		notice := wire.AppendMessage(nil, wire.AppendRequest(nil, nil, wire.MethodElicitComplete, params))
		ctx, cancel := context.WithTimeout(ctx, noticeWait)
		defer cancel()
		for told := false; !told && pause.For(ctx, noticePause); {
			told = s.tell(notice)
		}
	})
}
