package failures

import (
	"bytes"
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// codeURLElicitation is the code, in JSON, of an error that is not a failure.
var codeURLElicitation = strconv.Itoa(wire.CodeURLElicitation)

// Kinds that occur in every result that says by its kind that it is a failure, or a question.
var (
	kindFailure  = []byte(`toolError:v1`)
	kindQuestion = []byte(`needsInput:v1`)
	kindEnd      = []byte(`v1`)
)

// hasKind reports whether a kind occurs in a text. It searches for the end of the kind first: the first letter of the kind is much more
// frequent than a v, and the search would stop at each of them.
func hasKind(text, kind []byte) bool {
	return bytes.Contains(text, kindEnd) && bytes.Contains(text, kind)
}

// Asks reports whether an answer asks the client something.
func Asks(text []byte, signs *wire.Signs) bool {
	return string(signs.ResultType) == wire.InputRequired || hasKind(text, kindQuestion) ||
		!signs.Error.IsZero() && bytes.Contains(text, []byte(codeURLElicitation))
}

// Answer reads the failure in a JSON-RPC response, as scanned; isCall says that it is about a tool. Texts are
// masked by mask. The original is the response's result or error, masked. ok is false for a success.
func (r *Reader) Answer(text []byte, signs *wire.Signs, isCall bool, cut string, mask func([]byte) []byte) (
	reading contract.Reading, original json.Value, ok bool,
) {
	if !signs.Error.IsZero() {
		raw := signs.Error.Of(text)
		if string(json.Lookup(raw, "/code")) == codeURLElicitation {
			return reading, nil, false
		}
		original = mask(raw)
		return r.cut(cut).RPC(original), original, true
	}
	if !isCall {
		return reading, nil, false
	}
	result := signs.Result.Of(text)
	if json.Value(result).Kind() != '{' { // not a tool's result
		return r.unreadable(), nil, true
	}
	if !r.suspicious(text, signs) {
		return reading, nil, false
	}
	original = mask(result)
	reader := r.cut(cut)
	reading, ok = reader.Result(original)
	if !ok && (signs.IsError || signs.OddError) { // marked twice, or in a form of its own
		original = append(bytes.TrimRight(original, " \t\r\n}"), `,"isError":true}`...)
		if reading, ok = reader.Result(original); !ok {
			return r.unreadable(), nil, true
		}
	}
	return reading, original, ok
}

// suspicious reports whether a result shows any sign of a failure.
func (r *Reader) suspicious(text []byte, signs *wire.Signs) bool {
	return signs.IsError || signs.OddError || signs.Record || !signs.ResultError.IsZero() ||
		r.Weak != nil || len(r.families) > 0 || hasKind(text, kindFailure)
}

// unreadable is the reading of an answer that is marked as a failure but cannot be read or masked: nothing of
// it may be passed on.
func (r *Reader) unreadable() contract.Reading {
	return contract.Reading{Sign: "isError", Failure: recourse.BadResponse(r.entry.Title).WithOrigin(recourse.OriginServer)}
}

// Links returns the links that a JSON-RPC error asks the client to show to a person; nil: it is another error.
func Links(raw json.Value) (links []string) {
	if string(json.Lookup(raw, "/code")) != codeURLElicitation {
		return nil
	}
	var asked []struct {
		URL string `json:"url"`
	}
	_ = json.UnmarshalLenient(json.Lookup(raw, "/data/elicitations"), &asked) // without them no link is known
	for _, a := range asked[:min(len(asked), maxLinks)] {
		if u, err := url.Parse(a.URL); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			links = append(links, u.String())
		}
	}
	return links
}

// maxLinks is how many links are shown. The protocol allows any number of them.
const maxLinks = 4

// LinkRequired is the failure of a call that waits for a person to open links, for a client that cannot show them: the model
// passes them on.
func (r *Reader) LinkRequired(raw json.Value, links []string) *recourse.Error {
	said, _ := json.TextOf(json.Lookup(raw, "/message"))
	e := recourse.NotConnected(r.entry.Title).WithOrigin(recourse.OriginServer).WithDetail("connectUrl", links[0])
	return e.WithMessage("%s A person has to open %s", cmp.Or(strings.TrimSpace(said), e.Message), strings.Join(links, " and "))
}

// IsRPCError reports whether raw is a JSON-RPC error that clients can read.
func IsRPCError(raw json.Value) bool {
	return json.Lookup(raw, "/code").Kind() == '0' && json.Lookup(raw, "/message").Kind() == '"'
}

// IsProtocol reports whether e is about the message itself, so that the client's program has to see the
// server's original answer.
func IsProtocol(e *recourse.Error) bool {
	return e.Kind.Class() == recourse.ClassProtocol && e.Kind != recourse.KindUnknownSession
}

// IsForProgram reports whether a call of a tool that has failed with e ends in the server's own JSON-RPC error; protocol says
// that the server's entry wants that of all errors about the message itself.
func IsForProgram(e *recourse.Error, protocol bool) bool {
	return IsProtocol(e) && (protocol || rpccode.ForProgram(e.Kind))
}
