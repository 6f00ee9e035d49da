package account

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A client that supports it can show its user a link (URL mode elicitation): the link then need not pass
// through the model. In the modern era the call is answered with a question, and repeated with the client's
// answer. In the legacy era it fails with the code -32042, and a notification says when it can be repeated.

// linkQuestion is the question's name in a result, and the prefix of the state that the client returns with
// its answer.
const linkQuestion = "io.github.recoursehq/connect"

const (
	// linkWait limits how long a repeated call waits for the person, who may only just have opened the link.
	linkWait = 30 * time.Second
	// noticeWait limits how long a notification that an account is connected waits for a client without an
	// open stream.
	noticeWait = time.Minute
	// noticePause is how often it checks for a stream. The first time is when the person sees the page that
	// says so.
	noticePause = 100 * time.Millisecond
	// maxNotices limits the accounts that are waited for on behalf of clients.
	maxNotices = 1000
)

// HasLink reports whether there is a link that the client's user can still be shown.
func (a *Account) HasLink() bool { return a.link != "" && !a.declined }

// linkIn returns the members of the link in a question to the client.
func (a *Account) linkIn() json.Members {
	var question json.Members
	question.Text("mode", "url")
	question.Text("url", a.link)
	question.Text("message", a.why)
	return question
}

// Elicitation returns the data of the failure that makes a legacy client show the link; record is the failure
// in JSON.
func (a *Account) Elicitation(record []byte) []byte {
	question, data := a.linkIn(), json.Members{}
	question.Text("elicitationId", a.invitation.ID)
	data.Add("elicitations", append(question.AppendTo([]byte{'['}), ']'))
	data.Add(recourse.MetaKey, record)
	return data.AppendTo(nil)
}

// Question returns the result that makes a modern client show the link; record is the failure in JSON.
func (a *Account) Question(record []byte) []byte {
	var asked, meta, result json.Members
	asked.Text("method", wire.MethodElicit)
	asked.Object("params", a.linkIn())
	meta.Add(recourse.MetaKey, record)
	result.Text("resultType", wire.InputRequired)
	result.Object("inputRequests", json.Members{{Name: linkQuestion, Value: asked.AppendTo(nil)}})
	result.Text(wire.RequestState, strings.Join(append([]string{linkQuestion, strconv.FormatInt(a.Version, 10)}, a.scopes...), " "))
	result.Object("_meta", meta)
	return result.AppendTo(nil)
}

// TakeAnswer removes the client's answer from the params of a call, since the server has no use for it. It
// reports false if there is none.
func (a *Account) TakeAnswer(params json.Value) (rest json.Value, ok bool) {
	if !bytes.Contains(params, []byte(linkQuestion)) {
		return nil, false
	}
	switch string(json.Lookup(params, "/inputResponses/io.github.recoursehq~1connect/action")) {
	case "":
		return nil, false
	case `"accept"`:
		a.accepted = true
	default:
		a.declined = true
	}
	params = json.Change(params, "inputResponses", func(answers json.Value) json.Value {
		if answers = json.Without(answers, linkQuestion); string(answers) == "{}" {
			return nil
		}
		return answers
	})
	params = json.Change(params, wire.RequestState, func(state json.Value) json.Value {
		words := strings.Fields(json.Text(state, "")) // anything but a text is not ours
		if len(words) < 2 || words[0] != linkQuestion {
			return state
		}
		a.after, _ = strconv.ParseInt(words[1], 10, 64) // else 0: any version does
		a.asked = words[2:]
		return nil
	})
	return params, true
}

// Notified is the session of a legacy client, who is notified when an account is connected.
type Notified interface {
	// Expects records that the client will be notified about a link. It reports false if it already will be,
	// or about too many.
	Expects(link string) bool
	// ExpectsNoMore forgets the link.
	ExpectsNoMore(link string)
	// Tell sends something to the client on one of its streams. It reports false if none is open.
	Tell(event []byte) bool
}

// Notices limits the accounts that are waited for on behalf of clients. Create it with [NewNotices].
type Notices struct{ places chan struct{} }

// NewNotices returns the bounds of a gateway.
func NewNotices() Notices { return Notices{make(chan struct{}, maxNotices)} }

// WhenConnected notifies a client when the account is connected (MCP 2025-11-25, "Completion Notifications
// for URL Mode Elicitation"). background runs the waiting, for a limited time.
func (n Notices) WhenConnected(a *Account, s Notified, background func(timeout time.Duration, f func(ctx context.Context))) {
	manager, p, id := a.manager, &a.at.Provider, a.invitation.ID // the call may be over by then
	owner, after, scopes := a.owner, a.Version, a.scopes
	if !s.Expects(id) {
		return
	}
	select {
	case n.places <- struct{}{}:
	default: // the client can still try again
		s.ExpectsNoMore(id)
		return
	}
	background(connection.LinkTime, func(ctx context.Context) {
		defer func() { <-n.places }()
		defer s.ExpectsNoMore(id)
		if manager.Await(ctx, p, owner, after, scopes) != nil {
			return
		}
		params := append(json.AppendQuote([]byte(`{"elicitationId":`), id), '}')
		notice := wire.AppendRequest(nil, nil, wire.MethodElicitComplete, params)
		ctx, cancel := context.WithTimeout(ctx, noticeWait)
		defer cancel()
		for told := false; !told && pause.For(ctx, noticePause); {
			told = s.Tell(notice)
		}
	})
}
