package upstream

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/process"
)

// Patience holds the time limits for what a child should do at once. 0 means the default.
type Patience struct {
	Start time.Duration // from its start to its answer to initialize
	Stall time.Duration // to read a piece of what is written to it
	Last  time.Duration // between the end of its output and its exit, in either order
	Leave time.Duration // to exit by itself, and again after being told to
	// Silence is how long it may say nothing after leaving a call unanswered.
	Silence time.Duration
	// Restart is the pause before another child is started after the first death. The pauses grow.
	Restart time.Duration
}

// Hosts kill the wrapper two seconds after SIGTERM, and four after closing its stdin. A child that ignores
// the end of its stdin must get its own signal before that, or it is left running.
var defaultPatience = Patience{
	Start: time.Minute, Stall: 30 * time.Second, Last: 250 * time.Millisecond, Leave: 1500 * time.Millisecond,
	Silence: time.Minute, Restart: 100 * time.Millisecond,
}

func (p Patience) withDefaults() Patience {
	return Patience{
		Start: cmp.Or(p.Start, defaultPatience.Start), Stall: cmp.Or(p.Stall, defaultPatience.Stall),
		Last: cmp.Or(p.Last, defaultPatience.Last), Leave: cmp.Or(p.Leave, defaultPatience.Leave),
		Silence: cmp.Or(p.Silence, defaultPatience.Silence), Restart: cmp.Or(p.Restart, defaultPatience.Restart),
	}
}

// A child is a process that speaks MCP over its stdin and stdout, with everything that it starts. Its
// goroutines are a receiver and write, which own the pipes, hear for stderr, and run, which waits for them
// and for the process.
type child struct {
	s       *Stdio
	session *childSession // to which it belongs; nil: to none
	log     *slog.Logger

	cmd     *exec.Cmd
	group   process.Group
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	started time.Time
	last    tail // lines of stderr
	work    sync.WaitGroup

	quit   chan struct{} // closed to end write
	silent chan struct{} // closed when stdout has ended
	mute   chan struct{} // closed when stderr has
	exited chan struct{} // closed when the process has; state holds how
	state  string
	ended  chan struct{} // closed when all processes have ended

	stopping context.Context
	stop     context.CancelCauseFunc // ends it; only the first reason counts

	verdict error // why it ended; set before ended is closed

	said   atomic.Int64 // counts the lines of stdout, or pieces of them
	modern atomic.Bool  // it speaks the modern era

	mu       sync.Mutex
	calls    map[int64]*pending
	lateIDs  map[int64]struct{} // calls that were given up, whose answers may still arrive
	doubt    bool               // there has been such a call; its answer may arrive twice
	shared   bool               // by clients that must not see each other's data
	lastID   int64
	used     time.Time
	probing  *time.Timer   // by when it must have said something; nil: it was not asked
	gone     error         // why it takes no more requests
	out      []byte        // data to be written
	batch    uint64        // how often data was taken from it for writing
	writing  bool          // write has taken data and is not done
	refused  uint64        // a batch that the child has not read at all
	outReady chan struct{} // holds a token when there is something in out
	room     chan struct{} // closed when out has room again; nil: nobody waits

	// Guarded by Stdio.mu:
	ready bool        // it has been opened
	hello json.Value  // its result of initialize, if clients share it and it is of the legacy era
	key   string      // the client that it belongs to, if there is no session
	timer *time.Timer // ends it when it is idle
}

// An endError says why a child has ended, in words that clients may read.
type endError string

// Error implements error.
func (e endError) Error() string { return string(e) }

const (
	errStalled      = endError("stopped reading its input")
	errSilent       = endError("stopped answering")
	errInputClosed  = endError("closed its input")
	errOutputClosed = endError("closed its output")
	errMute         = endError("did not answer initialize in time")
	errStopped      = endError("was stopped")
)

// newChild returns a child, not yet started, for a session, which may be nil, or the client with that key.
func (s *Stdio) newChild(x *childSession, key string) *child {
	c := &child{
		s: s, session: x, log: s.log, shared: s.isShared(key),
		quit: make(chan struct{}), silent: make(chan struct{}), mute: make(chan struct{}),
		exited: make(chan struct{}), ended: make(chan struct{}),
		calls: map[int64]*pending{}, lateIDs: map[int64]struct{}{}, batch: 1, outReady: make(chan struct{}, 1),
	}
	c.stopping, c.stop = context.WithCancelCause(context.Background())
	return c
}

// start starts the process. run must be called next.
func (c *child) start(command *Command) error {
	path, err := command.find()
	if err != nil {
		return err
	}
	var theirs [3]*os.File
	var errs [3]error
	theirs[0], c.stdin, errs[0] = os.Pipe()
	c.stdout, theirs[1], errs[1] = os.Pipe()
	c.stderr, theirs[2], errs[2] = os.Pipe()
	defer closeFiles(theirs[:]...)
	c.cmd = &exec.Cmd{
		Path: path, Args: append([]string{command.Path}, command.Args...),
		Env: append([]string{}, command.Env...), // nil would mean all variables of this process
		Dir: command.Dir, Stdin: theirs[0], Stdout: theirs[1], Stderr: theirs[2],
	}
	if err = errors.Join(errs[:]...); err == nil {
		err = c.group.Start(c.cmd)
	}
	if err != nil {
		closeFiles(c.stdin, c.stdout, c.stderr)
		return err
	}
	c.started, c.used = time.Now(), time.Now()
	c.log = c.log.With(slog.Int("pid", c.cmd.Process.Pid))
	c.log.Info("process started")
	c.work.Go(func() {
		_ = c.cmd.Wait() // how it ended stands in its state
		c.state = c.cmd.ProcessState.String()
		close(c.exited)
	})
	c.work.Go(c.write)
	c.work.Go(func() {
		defer close(c.silent)
		defer c.stdout.Close()
		(&receiver{child: c}).read(c.stdout)
	})
	c.work.Go(func() {
		defer close(c.mute)
		defer c.stderr.Close()
		c.hear(c.stderr)
	})
	return nil
}

func closeFiles(files ...*os.File) {
	for _, file := range files {
		_ = file.Close() // one may be nil
	}
}

// run waits until the child ends or has to end, fails its calls, and leaves nothing of it running.
func (c *child) run() {
	why := c.watch()
	c.fail(why)
	c.terminate()
	c.work.Wait()
	if errors.Is(why, errStopped) {
		c.log.Info("process stopped")
	} else {
		c.log.Warn("process ended", slog.String("cause", printable([]byte(why.Error()), c.s.mask)))
	}
	c.verdict = why
	c.s.childEnded(c)
	close(c.ended)
}

func (c *child) watch() error {
	var why error
	select {
	case <-c.exited:
		pause.Until(c.silent, c.s.patience.Last) // its last messages still count
	case <-c.silent:
		why = errOutputClosed
	case <-c.stopping.Done():
		why = context.Cause(c.stopping)
	}
	if errors.Is(why, errStopped) || why != nil && !pause.Until(c.exited, c.s.patience.Last) {
		return why
	}
	pause.Until(c.mute, c.s.patience.Last) // its last words may say why
	return endError("ended (" + c.state + ")")
}

// fail ends all calls. Those that the child has not read are given to the next child.
func (c *child) fail(why error) {
	e := recourse.Unreachable(c.s.name).WithMessage("%s's process %s.", c.s.name, reason(why)).
		WithOrigin(recourse.OriginGateway).CausedBy(c.last.cause(why, c.s.mask))
	c.mu.Lock()
	calls, batch, refused := c.calls, c.batch, c.refused
	c.gone, c.calls, c.out = e, nil, nil
	if c.probing != nil {
		c.probing.Stop()
	}
	if c.room != nil {
		close(c.room)
		c.room = nil
	}
	c.mu.Unlock()
	for _, call := range calls {
		if call.batch == batch || call.batch == refused {
			call.End(errUnsent)
		} else {
			call.End(e)
		}
	}
}

// reason says how a process ended, in words that clients may read.
func reason(why error) string {
	if end, ok := errors.AsType[endError](why); ok {
		return end.Error()
	}
	return "was ended"
}

// terminate ends the process and everything that it has started: it closes stdin, then asks, then kills (MCP
// 2025-11-25, basic/lifecycle, "Shutdown"). It returns when they have ended.
func (c *child) terminate() {
	close(c.quit)
	_ = c.stdin.SetWriteDeadline(time.Now()) // a blocked write ends; if that is impossible, it ends with the process
	if !pause.Until(c.exited, c.s.patience.Leave) {
		c.group.Terminate()
		if !pause.Until(c.exited, c.s.patience.Leave) {
			c.group.Kill()
			<-c.exited
		}
	}
	if !c.group.Leave(0) {
		c.group.Terminate()
		if !c.group.Leave(c.s.patience.Leave) {
			c.group.Kill()
			if !c.group.Leave(c.s.patience.Leave) {
				c.log.Warn("could not kill all child processes")
			}
		}
	}
	c.group.Close()
	// A process that has left the group may still hold the pipes.
	_ = c.stdout.SetReadDeadline(time.Now().Add(c.s.patience.Last))
	_ = c.stderr.SetReadDeadline(time.Now().Add(c.s.patience.Last))
}

// retire makes the child take no more calls, unless one is in progress, and reports whether it does so.
func (c *child) retire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) > 0 || c.gone != nil {
		return false
	}
	c.gone = errStopped
	return true
}

// idle returns how long no call has been in progress.
func (c *child) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) > 0 {
		return 0
	}
	return time.Since(c.used)
}

func (c *child) hear(stderr io.Reader) {
	lines, log := wire.NewLineReader(stderr, lineRead), quoter{log: c.log.Info, mask: c.s.mask, perSecond: 50}
	for first := true; ; {
		line, end, err := lines.Piece()
		if err != nil {
			log.close("stderr")
			return
		}
		if first { // the rest of a longer line is dropped
			wire.OneLine(line)
			c.last.add(line)
			log.quote("stderr", line)
		}
		first = end
	}
}
