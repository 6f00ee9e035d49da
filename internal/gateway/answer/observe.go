package answer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// keptBack are headers of an answer that belong to the connection or to the server's own session and cookies,
// or that the gateway writes itself.
var keptBack = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Connection": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Content-Length": true, "Date": true, "Server": true, "Set-Cookie": true,
	wire.HeaderSession: true, wire.HeaderRequestID: true,
	"Access-Control-Allow-Origin": true, "Access-Control-Allow-Credentials": true,
	"Access-Control-Expose-Headers": true, "Vary": true,
}

// PassesUnchanged reports whether a header of the server's answer is passed on with an answer that is only observed.
func PassesUnchanged(name string) bool { return !keptBack[name] || PassesBack(name) }

// WatchRefusal passes on an answer whose status is not 200.
func (in *Inbound) WatchRefusal(ctx context.Context, report func(*recourse.Error)) End {
	resp := in.Resp
	body, _ := io.ReadAll(io.LimitReader(resp, int64(in.Config.DecideWithin)+1)) // if reading fails, the status still counts
	if err := ctx.Err(); err != nil {
		return Again(upstream.Broken(ctx, in.Server.Title, err))
	}
	report(in.explainRefusal(in.Reader.HTTP(resp.Status, resp.Header, body, "").Error(), body))
	in.Reply.PassOn(io.MultiReader(bytes.NewReader(body), in.Resp))
	return End{Why: Answered}
}

// Watch passes on an answer with status 200.
func (in *Inbound) Watch(ctx context.Context, report func(*recourse.Error)) (end End) {
	whole, last := false, End{}
	for in.Open(); in.Next(); {
		part := in.Part
		in.Reply.Relay(&part.Event, in.Stream, in.Said())
		if in.Reply.Gone {
			return End{Why: Answered}
		}
		in.noteResumption()
		if !part.First || !part.Complete {
			in.Deadline.Alive()
		}
		switch {
		case part.Other, !part.Complete:
			continue
		case in.Stream && part.First && part.Kind != wire.Response:
			in.Notice(part.Signs)
			continue
		case in.Stream && !part.First && !part.Signs.MethodAt.IsZero():
			continue
		}
		found := in.watchMessage(report)
		last.Late, last.Seeming = cmp.Or(found.Late, last.Late), cmp.Or(found.Seeming, last.Seeming)
		whole = true
	}
	if in.Part != nil { // what came before the fault
		in.Reply.Relay(&in.Part.Event, in.Stream, front.Unknown)
	}
	if in.Reply.Gone {
		return End{Why: Answered}
	}
	end = in.watchEnd(ctx, whole, report)
	end.Late, end.Seeming = last.Late, last.Seeming
	return end
}

// watchEnd handles the end of an answer that was passed on.
func (in *Inbound) watchEnd(ctx context.Context, whole bool, report func(*recourse.Error)) End {
	if in.Stream {
		in.Reply.StartEvents()
	}
	if whole {
		if !errors.Is(in.Err, io.EOF) {
			in.Reply.Abort()
		}
		return End{Why: Answered}
	}
	e := in.ended(ctx)
	if e != nil && wire.BrokeOff(in.Err) {
		return in.breakOff(e)
	}
	report(e)
	return End{Why: Answered}
}

// watchMessage looks for the failure in an answer whose last piece has been passed on.
func (in *Inbound) watchMessage(report func(*recourse.Error)) (found End) {
	last := in.Part
	if err := in.flaw(); err != nil {
		report(in.Reader.BadResponse(err))
		return End{}
	}
	if !last.First { // it was too large to be kept
		return End{Late: in.late()}
	}
	if reading, _, ok := in.reading(last.Data); ok {
		report(in.caused(reading.Error(), last.Data))
		return End{}
	}
	if e := in.unmet(last.Data); e != nil {
		report(e)
		return End{}
	}
	return End{Seeming: in.seeming(last.Data)}
}

// Forward passes on an answer of the gateway's own, which has been judged.
func (in *Inbound) Forward() {
	if in.Resp.Status != http.StatusOK {
		in.Reply.PassOn(in.Resp)
		return
	}
	in.Open()
	in.Messages.Read(in.Resp, wire.AsIs)
	if in.Stream {
		in.Reply.StartEvents()
		in.Reply.W.Flush()
	}
	for in.Next() {
		in.Deadline.Alive()
		in.Reply.Relay(&in.Part.Event, in.Stream, in.Said())
		if in.Reply.Gone {
			return
		}
	}
	if !errors.Is(in.Err, io.EOF) {
		in.Reply.Abort()
	}
}
