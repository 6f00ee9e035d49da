package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// maxUnderWay is how many requests are played at once.
const maxUnderWay = 1000

// Stdio plays to a client on standard input and output, until its input ends, or the recorded server does.
func (p *Player) Stdio(ctx context.Context, from io.Reader, to io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s, o := p.stage(false), &stdio{to: to, end: cancel, http: p.Recording.http}
	over := make(chan error, 1)
	go func() { over <- o.serve(ctx, s, from) }()
	var err error
	select {
	case err = <-over:
	case <-ctx.Done(): // its reader ends with the process
		err = context.Cause(ctx)
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	cancel(nil)
	return errors.Join(err, p.Missing())
}

// stdio is a client on stdio.
type stdio struct {
	mu   sync.Mutex
	to   io.Writer
	end  context.CancelCauseFunc
	http bool // what is played was recorded over HTTP
}

// serve reads the client's messages, and returns when all are answered.
func (o *stdio) serve(ctx context.Context, s *stage, from io.Reader) error {
	var under sync.WaitGroup
	under.Go(func() { s.play(ctx, &s.p.Recording.prelude, &spoken{}, &stdioReply{stdio: o}) })
	slots := make(chan struct{}, maxUnderWay)
	lines := wire.NewLineReader(from, maxLine)
	for {
		line, err := lines.Next()
		if err != nil {
			close(s.gone)
			under.Wait()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		answer := s.hear(line.Text)
		if answer == nil {
			continue
		}
		slots <- struct{}{}
		to := &stdioReply{stdio: o, id: read(line.Text).ID}
		under.Go(func() {
			answer(ctx, to)
			<-slots
		})
	}
}

// stdioReply is where the answer to one message goes.
type stdioReply struct {
	*stdio

	id     json.Value
	status int
}

// head implements [out]. There is no place for it but in an answer that is no message.
func (o *stdioReply) head(status int, _ map[string]string) { o.status = status }

// say implements [out].
func (o *stdioReply) say(text []byte, answers bool) {
	if m := read(text); o.http && m.Method == "" && !m.answers() {
		if !answers || o.id == nil {
			return
		}
		text = wire.AppendError(nil, wire.ID(o.id), wire.CodeInternalError, fmt.Sprintf("HTTP %d: %s", o.status, text), nil)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.to.Write(append(slices.Clip(text), '\n')); err != nil {
		o.end(err)
	}
}

// broken implements [out].
func (o *stdioReply) broken(how string) {
	if o.http {
		o.say(wire.AppendError(nil, wire.ID(o.id), wire.CodeInternalError, "the connection broke: "+how, nil), true)
		return
	}
	o.end(errors.New("the recorded server ended here: " + how))
}
