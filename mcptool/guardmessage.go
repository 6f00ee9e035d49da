package mcptool

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// read reads the message of a POST, so that a refusal can name it, and puts it back.
func (x *visit) read(limit int64) error {
	if x.r.Method != http.MethodPost {
		return nil
	}
	if x.r.ContentLength > limit {
		return recourse.TooLarge(limit)
	}
	body, err := io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	if err != nil {
		return recourse.New(recourse.KindMalformed, "The message did not arrive in full.").CausedBy(err)
	}
	if int64(len(body)) > limit {
		return recourse.TooLarge(limit)
	}
	x.r.Body = io.NopCloser(bytes.NewReader(body))
	if err := wire.Parse(body, &x.msg); err != nil {
		x.msg = wire.Message{} // an invalid message is not trusted about anything
		return door.Refused(err).CausedBy(err)
	}
	return nil
}

// identify finds the id of a message that is refused before it was read.
func (x *visit) identify() {
	const part = 64 << 10
	if x.r.Method != http.MethodPost || x.msg.Raw != nil {
		return
	}
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(time.Second)) // not every writer has one
	body, _ := io.ReadAll(io.LimitReader(x.r.Body, part))                            // an incomplete body is enough
	if wire.Parse(body, &x.msg) == nil {
		return
	}
	x.msg = wire.Message{ID: door.FirstID(body)}
}

// user returns the user named in the path, "" if it names none, or why the path is not the
// endpoint's.
func (x *visit) user() (user string, refused *denial) {
	own, path := x.g.contract.Session.Path, x.r.URL.EscapedPath()
	switch {
	case x.g.forUsers:
		user, fit := x.g.path.User(path)
		if fit == door.Begins {
			return "", &denial{at: contract.AtUserInvalid, err: recourse.NotFound("user", "")}
		}
		return user, nil
	case own != "" && path != own:
		e := recourse.New(recourse.KindInvalidRequest, "There is no MCP server at this path.")
		return "", &denial{at: contract.AtSession, err: e, status: http.StatusNotFound}
	default:
		return "", nil
	}
}
