package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/recent"
	"github.com/recoursehq/recourse/internal/spool"
)

// Stdio is an MCP server that is a child process and speaks over its stdin and stdout. To its caller it is a
// server over Streamable HTTP of the child's era (MCP 2025-11-25 and 2026-07-28, basic/transports): it
// answers with JSON or, if anything comes before the answer, with an event stream; in the legacy era it opens
// sessions, and streams for what the child says unasked. A child that accepts initialize is of the legacy
// era, whatever else it can do.
//
// A child is started for the first call, and again, after growing pauses, when it has died. Its calls then
// fail, except for those that it has not read, which wait for the next child. A child that closes its output,
// reads nothing for 30 s, or leaves a call unanswered and stays silent for a minute, even when pinged, is
// ended and restarted. Nothing that a child has started outlives it.
type Stdio struct {
	name     string
	command  Command
	log      *slog.Logger
	mask     *redact.Masker // of what goes to log
	patience Patience
	most     int // how many children there may be

	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	starts   starts
	era      wire.Era           // of the last child that showed it; 0: none has
	ready    map[string]*child  // by the client that it belongs to; empty for the shared one
	attempts map[string]*launch // to start one of these
	children map[*child]struct{}
	counted  Processes
	spools   spool.Room // of their long answers
	sessions *recent.Map[string, *childSession]
	streams  map[*Mailbox]*childSession // on which a shared child is heard; nil: for a client without a session

	// What the sessions that share a child have subscribed to:
	wanted   Subscriptions[*childSession] // guarded by mu
	turn     pause.Turn                   // of whoever tells the child of a change, so that changes reach it in order
	preceded bool                         // there has been such a child; guarded by mu
}

// Processes counts the processes of a program.
type Processes struct {
	Running       int
	Started, Died int64 // died: ended without being stopped
}

// Processes returns the count.
func (s *Stdio) Processes() Processes {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.counted
	p.Running = len(s.children)
	return p
}

// A launch is an attempt to start a child that does not belong to a session.
type launch struct {
	done chan struct{}
	err  error // the command could not even be executed
}

// Limits with [ShareClient].
const (
	maxChildren = 100
	clientIdle  = 30 * time.Minute // the default of Command.Idle
)

// NewStdio returns the server that command starts; name is its display name. What its processes do and write
// to stderr is logged to log, with credentials and the secrets of their environment masked. Nothing is
// started yet, but log says if the program or directory does not exist. The error is about the command as
// written, such as one without a path.
func NewStdio(name string, command Command, log *slog.Logger) (*Stdio, error) {
	if command.Path == "" {
		return nil, fmt.Errorf("command of server %s: it is empty", name)
	}
	if command.Idle < 0 {
		return nil, fmt.Errorf("command of server %s: idle is negative", name)
	}
	if command.Share == ShareClient && command.Idle == 0 {
		command.Idle = clientIdle
	}
	secrets := func() []string { return redact.Environ(command.Env) }
	s := &Stdio{
		name: name, command: command, log: log, mask: redact.New(redact.Secrets).Hiding(secrets),
		patience: command.Patience.withDefaults(), most: maxChildren, turn: pause.NewTurn(1),
		ready: map[string]*child{}, attempts: map[string]*launch{},
		children: map[*child]struct{}{}, streams: map[*Mailbox]*childSession{},
		sessions: recent.New[string, *childSession](recent.Bounds{Most: maxSessions}),
	}
	s.life, s.end = context.WithCancel(context.Background())
	if _, err := command.find(); err != nil {
		s.complain("cannot start the program", err)
	}
	return s, nil
}

func (s *Stdio) complain(what string, why error) {
	s.log.Warn(what, slog.String("cause", printable([]byte(why.Error()), s.mask)))
}

// Name returns the server's display name.
func (s *Stdio) Name() string { return s.name }

// Era returns the server's era, as the last child has shown it: modern if it refuses initialize and answers
// server/discover. It is 0 before a child has been started.
func (s *Stdio) Era() wire.Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// Close ends the server's processes, which fails their calls, and waits until nothing of them is left.
func (s *Stdio) Close() {
	s.mu.Lock()
	for c := range s.children {
		c.stop(errStopped)
	}
	s.end()
	s.mu.Unlock()
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for b := range s.streams {
		b.End(io.EOF)
	}
}

func (s *Stdio) isClosed() bool { return s.life.Err() != nil }

// Do implements [Connection]: POST sends a message, and in the legacy era GET opens a stream and DELETE ends
// a session. Of the headers only the session's id counts, and the request id, which a tool call gets in its
// _meta. Closing the body, even while it is being read, gives up a call that has not been answered; so does
// the end of ctx.
//
// The error is unreachable if the process ended before the answer, and unavailable if it cannot be started,
// with its last lines on stderr as the cause.
func (s *Stdio) Do(ctx context.Context, r *Request) (*wire.Answer, error) {
	id := r.Header.Get(wire.HeaderSession)
	switch {
	case r.IsPost() && r.Message != nil:
		return s.post(ctx, r, r.Message)
	case r.IsPost():
		m := wire.BorrowMessage()
		defer m.Return()
		if err := wire.Parse(r.Body, m); err != nil {
			return wire.RespondMalformed(m.ID, err), nil
		}
		return s.post(ctx, r, m)
	case s.Era() == wire.Modern:
		return refuseMethod("POST"), nil
	case r.Method == http.MethodGet:
		return s.listen(ctx, id), nil
	case r.Method == http.MethodDelete:
		return s.endSession(id), nil
	default:
		return refuseMethod("GET, POST, DELETE"), nil
	}
}

func refuseMethod(allowed string) *wire.Answer {
	return wire.RespondRefusal(http.StatusMethodNotAllowed, "the server takes "+allowed, allowed)
}

func (s *Stdio) unavailable(message string, cause error) *recourse.Error {
	return recourse.Unavailable(s.name).WithMessage("%s", message).
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(cause)
}

// ErrNotStarted is the cause of a failure if the server's program cannot be started. Trying again at once is
// useless: the failure states the wait.
var ErrNotStarted = errors.New("cannot start the program")

// startFailure is the failure for a command that cannot be executed.
func (s *Stdio) startFailure(err error) *recourse.Error {
	message, cause := s.name+" could not be started", fmt.Errorf("%w: %w", ErrNotStarted, err)
	switch {
	case isAny(err, fs.ErrNotExist, exec.ErrNotFound, syscall.ENOTDIR):
		message += ": its program or working directory does not exist"
	case isAny(err, fs.ErrPermission, syscall.EISDIR, syscall.ENOEXEC):
		message += ": its program cannot be executed"
	default: // such as too many open files
		return s.unavailable(message+".", cause)
	}
	return s.unavailable(message+".", cause).WithRetry(recourse.RetryAfterSetup)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// dead is the failure for a message while processes die at their start.
func (s *Stdio) dead(why error, wait time.Duration) *recourse.Error {
	message := fmt.Sprintf("%s could not be started: its process %s.", s.name, reason(why))
	e := s.unavailable(message, fmt.Errorf("%w: %w", ErrNotStarted, why))
	if !s.command.Local {
		return e.WithRetryAfter(wait)
	}
	if said := lastWords(why); said != "" {
		e = e.WithMessage("%s Its last lines:\n%s", message, said)
	}
	return e.WithRetry(recourse.RetryAfterSetup) // the person who is told can and must do it
}

// shut is the failure for a message after Close.
func (s *Stdio) shut() *recourse.Error {
	return s.unavailable(s.name+" is no longer served.", errors.New("the server is closed"))
}

// errOtherEra says that the server is of the legacy era, in which a client without a session cannot have a
// child of its own.
var errOtherEra = errors.New("the server is of the legacy era")

// running returns a client's child, or the shared one if key is empty, and waits until it has been started.
func (s *Stdio) running(ctx context.Context, key string) (*child, error) {
	for {
		s.mu.Lock()
		switch {
		case s.isClosed():
			s.mu.Unlock()
			return nil, s.shut()
		case key != "" && s.era == wire.Legacy:
			s.mu.Unlock()
			return nil, errOtherEra
		case s.ready[key] != nil:
			c := s.ready[key]
			s.mu.Unlock()
			return c, nil
		case s.attempts[key] != nil:
		default:
			a := &launch{done: make(chan struct{})}
			s.attempts[key] = a
			s.work.Go(func() { s.try(key, a) })
		}
		a := s.attempts[key]
		s.mu.Unlock()
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, EndedBeforeSend(ctx, s.name)
		}
		if a.err != nil {
			return nil, a.err
		}
	}
}

// try starts and opens a client's child, or the shared one if key is empty.
func (s *Stdio) try(key string, a *launch) {
	defer close(a.done)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.attempts, key)
	}()
	c, err := s.spawn(s.life, nil, key)
	if err != nil {
		if !s.isClosed() { // otherwise that is more informative
			a.err = err
		}
		return
	}
	ctx, cancel := context.WithTimeoutCause(s.life, s.patience.Start, errMute)
	defer cancel()
	hello, err := c.open(ctx)
	if err != nil {
		c.stop(err)
		<-c.ended
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era = c.era(); key != "" && s.era == wire.Legacy {
		c.stop(errStopped) // it was told of no client, so it can belong to none
		return
	}
	c.hello = forAll(hello)
	switch taken := s.offer(c, key); {
	case !taken:
		c.stop(errStopped)
	case s.era == wire.Legacy:
		s.follow(c)
	}
}

// offer makes an open child a client's, or the shared one if key is empty. It reports false if there already
// is one, or this one has ended. s.mu is held.
func (s *Stdio) offer(c *child, key string) bool {
	if _, alive := s.children[c]; !alive || s.isClosed() || s.ready[key] != nil {
		return false
	}
	c.ready, c.key, s.ready[key] = true, key, c
	if s.command.Share == ShareClient {
		s.starts = starts{}
	}
	s.watchIdle(c)
	return true
}

// spawn starts a child for a session, which may be nil, or the client with that key, as soon as it may be
// started and there is room for it.
func (s *Stdio) spawn(ctx context.Context, x *childSession, key string) (*child, error) {
	s.mu.Lock()
	now := time.Now()
	why, wait := s.starts.refuses(now), s.starts.wait(now)
	s.mu.Unlock()
	switch {
	case why != nil:
		return nil, s.dead(why, wait)
	case wait > 0 && !pause.For(ctx, wait):
		return nil, EndedBeforeSend(ctx, s.name)
	}
	if err := s.makeRoom(ctx); err != nil {
		return nil, err
	}
	c := s.newChild(x, key)
	if err := c.start(&s.command); err != nil {
		s.complain("process could not be started", err)
		return nil, s.startFailure(err)
	}
	s.mu.Lock()
	if s.isClosed() {
		s.mu.Unlock()
		c.stop(errStopped)
		c.run()
		return nil, s.shut()
	}
	s.children[c] = struct{}{}
	s.counted.Started++
	s.work.Go(c.run)
	s.mu.Unlock()
	return c, nil
}

func (s *Stdio) childEnded(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.children, c)
	if !errors.Is(c.verdict, errStopped) {
		s.counted.Died++
	}
	if s.ready[c.key] == c {
		delete(s.ready, c.key)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.session != nil {
		s.remove(c.session)
	}
	// A client's next child belongs to it alone, and does not wait because of another client's crash.
	if counts := s.command.Share == ShareAll || !c.ready; counts && !errors.Is(c.verdict, errStopped) {
		now := time.Now()
		s.starts.died(s.patience.Restart, now, now.Sub(c.started), c.ready, c.last.cause(c.verdict, s.mask))
	}
}

// watchIdle stops the child once it has been idle for too long. s.mu is held.
func (s *Stdio) watchIdle(c *child) {
	if s.command.Idle == 0 {
		return
	}
	c.timer = time.AfterFunc(s.command.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		left := s.command.Idle - c.idle()
		switch {
		case isHeard(c):
			c.timer.Reset(s.command.Idle)
		case left > 0:
			c.timer.Reset(left)
		case c.retire():
			c.stop(errStopped)
		}
	})
}
