package mcptool

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/wire"
)

// read reads the message of a POST, so that what refuses it can name it, and puts it
// back.
func (x *visit) read(limit int64) error {
	if x.r.Method != http.MethodPost {
		return nil
	}
	if x.r.ContentLength > limit {
		return recourse.TooLarge(limit)
	}
	body, err := io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	if err != nil {
		return recourse.New(recourse.KindMalformed, "The message did not arrive as a whole.").CausedBy(err)
	}
	if int64(len(body)) > limit {
		return recourse.TooLarge(limit)
	}
	x.r.Body = io.NopCloser(bytes.NewReader(body))
	if err := wire.Parse(body, &x.msg); err != nil {
		x.msg = wire.Message{} // nothing in a message that is none is taken at its word
		return unreadable(err)
	}
	return nil
}

// unreadable returns the failure of a text that package wire refuses.
func unreadable(err error) *recourse.Error {
	said, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return recourse.New(recourse.KindInvalidRequest, "").CausedBy(err)
	}
	e := recourse.New(refusedKinds[said.Code], "")
	if e.Kind == recourse.KindMissingParam {
		e = recourse.Missing(strings.TrimPrefix(said.Pointer, "/"))
	}
	return e.WithMessage("%s%s.", strings.ToUpper(said.Message[:1]), said.Message[1:]).CausedBy(err)
}

// refusedKinds are the kinds of failures by the code that package wire gives them.
var refusedKinds = map[int]recourse.Kind{
	wire.CodeParseError:         recourse.KindMalformed,
	wire.CodeInvalidRequest:     recourse.KindInvalidRequest,
	wire.CodeMethodNotFound:     recourse.KindUnknownMethod,
	wire.CodeInvalidParams:      recourse.KindMissingParam,
	wire.CodeHeaderMismatch:     recourse.KindHeaderMismatch,
	wire.CodeUnsupportedVersion: recourse.KindUnsupportedVersion,
}

// identify finds the id of a message that is refused before it was read.
func (x *visit) identify() {
	const part = 64 << 10
	if x.r.Method != http.MethodPost || x.msg.Raw != nil {
		return
	}
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(time.Second)) // not every writer has one
	body, _ := io.ReadAll(io.LimitReader(x.r.Body, part))                            // what there is, is enough
	if wire.Parse(body, &x.msg) == nil {
		return
	}
	x.msg = wire.Message{ID: idOf(body)}
}

// idOf returns the id in a text that is no message, or a part of one; nil where none
// can be read.
func idOf(text []byte) wire.ID {
	var scan wire.Scanner
	_, _ = scan.Write(text) // what there is, is enough
	id := scan.Signs().ID
	if len(id) == 0 || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil
	}
	return id.Clone()
}

// A pathRule tells the endpoint's path, and the user in it.
type pathRule struct {
	prefix, suffix string // around the user
	name           string // of the user's place
	hasUser        bool
	isAny          bool
}

// newPathRule reads a path in the form of http.ServeMux with at most one place.
func newPathRule(path string) pathRule {
	prefix, rest, hasUser := strings.Cut(path, "{")
	name, suffix, _ := strings.Cut(rest, "}")
	return pathRule{prefix: prefix, suffix: suffix, name: name, hasUser: hasUser, isAny: path == ""}
}

// match returns the user in the endpoint's URL, "" where it is missing, or why u is not
// the endpoint's. Where the path names a user, that is what is wrong with every other.
func (p pathRule) match(u *url.URL) (user string, no *refusal) {
	path := u.EscapedPath()
	rest, ok := strings.CutPrefix(path, p.prefix)
	switch {
	case p.isAny, !p.hasUser && path == p.prefix:
		return "", nil
	case !p.hasUser:
		e := recourse.New(recourse.KindInvalidRequest, "There is no MCP server at this path.")
		return "", &refusal{at: contract.AtSession, err: e, status: http.StatusNotFound}
	case !ok, "/"+rest == p.suffix:
		return "", nil
	}
	segment, ok := strings.CutSuffix(rest, p.suffix)
	user, err := url.PathUnescape(segment)
	if !ok || err != nil || strings.Contains(segment, "/") {
		return "", &refusal{at: contract.AtUserInvalid, err: recourse.NotFound("user", "")}
	}
	return user, nil
}

// isHeaderValue reports whether s can stand in a header as it is.
func isHeaderValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
