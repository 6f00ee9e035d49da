package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/store"
)

// OnceCommand looks at calls that are made once.
type OnceCommand struct {
	Ls     onceLsCommand     `cmd:"" help:"List the calls that are made once: those that are unknown, and those under way."`
	Show   onceShowCommand   `cmd:"" help:"Show what is known of a call."`
	Settle onceSettleCommand `cmd:"" help:"Say what became of a call that is unknown."`
}

// onceLsCommand lists calls.
type onceLsCommand struct {
	load.StoreFlags `embed:""`

	All    bool   `help:"Also those that have happened."`
	Server string `placeholder:"NAME" help:"Only calls of this server."`
	Tool   string `placeholder:"NAME" help:"Only calls of this tool."`
}

// Help shows an example.
func (*onceLsCommand) Help() string {
	return "With `once`, a gateway remembers writes in its store, so that whoever repeats one does not cause it to happen again.\n\n" +
		"Example:\n\n    recourse once ls --all --tool pay"
}

// Run lists them.
func (c *onceLsCommand) Run(ctx context.Context, env *term.Environment) error {
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	states := []once.State{once.Unknown, once.Sent}
	if c.All {
		states = append(states, once.Answered)
	}
	t := term.NewTable(env.Stdout, "ID", "SERVER", "TOOL", "CALLER", "STATE", "SINCE", "REQUEST")
	for _, state := range states {
		rows, err := s.Once().List(ctx, &store.OnceFilter{State: string(state), Server: c.Server, Tool: c.Tool})
		if err != nil {
			return err
		}
		for _, r := range rows {
			t.Row(r.ID[:shownID], r.Server, r.Tool, r.Caller, string(r.State), at(r.Changed), r.RequestID)
		}
	}
	return t.Flush()
}

// shownID is how much of an id is shown: enough to tell calls apart.
const shownID = 12

// aCall identifies a call that is made once.
type aCall struct {
	load.StoreFlags `embed:""`

	ID string `arg:"" placeholder:"ID" help:"${call_id}"`
}

// find returns the only call with that id, and the store, which has to be closed.
func (c *aCall) find(ctx context.Context, env *term.Environment) (*store.Store, *once.Row, error) {
	s, err := c.Open(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	r, err := findOnce(ctx, s, c.ID)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, r, nil
}

// onceShowCommand shows a call.
type onceShowCommand struct {
	aCall `embed:""`
}

// Help shows an example.
func (*onceShowCommand) Help() string {
	return "Answers are sealed: they are not shown.\n\nExample:\n\n    recourse once show req-1"
}

// Run shows it.
func (c *onceShowCommand) Run(ctx context.Context, env *term.Environment) error {
	s, r, err := c.find(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	t := term.NewTable(env.Stdout)
	for _, line := range [][2]string{
		{"id", r.ID},
		{"server", r.Server},
		{"tool", r.Tool},
		{"caller", r.Caller},
		{"state", string(r.State)},
		{"because", r.Note},
		{"request", r.RequestID},
		{"sent", at(r.Created)},
		{"changed", at(r.Changed)},
		{"remembered until", at(r.Expires)},
		{"answer", answerOf(r)},
	} {
		if line[1] != "" {
			t.Row(line[0], line[1])
		}
	}
	return t.Flush()
}

func at(t time.Time) string { return t.UTC().Format(time.DateTime) }

// answerOf says what is kept of the answer.
func answerOf(r *once.Row) string {
	switch {
	case r.State != once.Answered:
		return ""
	case r.Answer == "":
		return "not kept"
	case r.Delivered:
		return fmt.Sprintf("%d bytes, sealed; the client has got it", r.Size)
	default:
		return fmt.Sprintf("%d bytes, sealed", r.Size)
	}
}

// findOnce returns the only call with that id.
func findOnce(ctx context.Context, s *store.Store, id string) (*once.Row, error) {
	filter := &store.OnceFilter{ID: id, Limit: 2}
	if strings.HasPrefix(id, requestPrefix) {
		filter = &store.OnceFilter{RequestID: id, Limit: 2}
	}
	rows, err := s.Once().List(ctx, filter)
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, term.Hint(errors.New("there is no such call"), "`recourse once ls --all` lists the calls")
	case len(rows) > 1:
		return nil, term.Hint(errors.New("several calls have this id"), "write more of the id")
	}
	return rows[0], nil
}

// onceSettleCommand says what became of a call.
type onceSettleCommand struct {
	aCall `embed:""`

	Landed    bool `xor:"what" required:"" help:"It has happened: repetitions are told so."`
	NotLanded bool `xor:"what" required:"" help:"${once_settle_not_landed}"`
}

// Help shows an example.
func (*onceSettleCommand) Help() string {
	return "Make sure before you say that a call has not happened: its next repetition is made.\n\nExample:\n\n" +
		"    recourse once settle req-1 --landed"
}

// Run settles it.
func (c *onceSettleCommand) Run(ctx context.Context, env *term.Environment) error {
	s, r, err := c.find(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	if r.State != once.Unknown {
		return term.Hint(fmt.Errorf("the call is %s, not unknown", r.State), "only calls that are unknown can be settled")
	}
	done, err := s.Once().Settle(ctx, r, c.Landed, "an operator")
	if err == nil && !done {
		err = errors.New("the call has changed meanwhile; look again")
	}
	if err != nil {
		return err
	}
	return acted(ctx, s, store.ActionSettled, "server", r.Server, "tool", r.Tool, "request_id", r.RequestID,
		"has_happened", map[bool]string{true: "yes", false: "no"}[c.Landed])
}
