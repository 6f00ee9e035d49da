package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// A cell is one run of an agent: a framework, a class, bare or through Recourse.
type cell struct {
	Class   string   `json:"class"`
	Through bool     `json:"through"`
	End     string   `json:"end"`     // done, threw, died or hangs
	Threw   string   `json:"threw"`   // what the run threw
	Asked   int      `json:"asked"`   // requests to the model
	Called  string   `json:"called"`  // the tool's name, as the model has it; empty if it was not listed
	Told    []string `json:"told"`    // what the model has read of the call
	Arrived int      `json:"arrived"` // calls that the server has got
}

// Ends of a run.
const (
	done  = "done"
	threw = "threw"
	died  = "died"
	hangs = "hangs"
)

// A rig runs the cells of one framework.
type rig struct {
	framework *framework
	env       string // where the frameworks are installed
	recourse  string // the program
	self      string // this program
	program   *agentProgram
	folder    string
}

// most is how long an agent may take. A call that nobody answers never ends; whatever else takes as long is on a slow machine.
func (c *class) most(through bool) time.Duration {
	if through || c.name == "ok" {
		return time.Minute
	}
	return 20 * time.Second
}

func (r *rig) all(ctx context.Context, chosen []*class, each func(*cell)) (err error) {
	r.folder, err = os.MkdirTemp("", "frameworks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.folder)
	defer r.stop()
	for _, c := range chosen {
		for _, through := range []bool{false, true} {
			one, err := r.cell(ctx, c, through)
			if err != nil {
				return err
			}
			each(one)
		}
	}
	return nil
}

func (r *rig) stop() {
	if r.program != nil {
		r.program.stop()
		r.program = nil
	}
}

func (r *rig) cell(ctx context.Context, c *class, through bool) (_ *cell, err error) {
	folder, err := os.MkdirTemp(r.folder, "cell-")
	if err != nil {
		return nil, err
	}
	server, err := newServer(ctx, c)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	calls := filepath.Join(folder, "calls")
	t := &task{URL: server.url, Prompt: "Create the order A-17."}
	if c.stdio {
		t.URL, t.Command = "", []string{r.self, "-child", calls}
	}
	if through {
		g, err := startGateway(ctx, r.recourse, folder, t.server())
		if err != nil {
			return nil, err
		}
		defer g.stop()
		if err := g.meet(ctx); err != nil {
			return nil, err
		}
		t.URL, t.Command = g.url, nil
	}
	model, err := newModel(ctx, c, func() { c.happen(c.atCall, server) })
	if err != nil {
		return nil, err
	}
	defer model.stop()
	t.Model = model.url + "/v1"
	c.happen(c.before, server)
	one := &cell{Class: c.name, Through: through}
	if err := r.run(ctx, t, one, c.most(through)); err != nil {
		return nil, err
	}
	one.Asked, one.Called, one.Told = model.said()
	one.Arrived = server.arrivals()
	if c.stdio {
		noted, _ := os.ReadFile(calls) // there are none if there is no file
		one.Arrived = len(noted)
	}
	return one, nil
}

func (c *class) happen(what func(*failingServer), s *failingServer) {
	if what != nil {
		what(s)
	}
}

// server is where the gateway finds the server.
func (t *task) server() string {
	if t.URL != "" {
		return "url: " + t.URL
	}
	list, _ := json.Marshal(t.Command) // texts always have a JSON form
	return "command: " + string(list)
}

// run has the framework run one agent. A program that has ended or hangs is started anew for the next one.
func (r *rig) run(ctx context.Context, t *task, c *cell, most time.Duration) (err error) {
	if r.program == nil {
		if r.program, err = startProgram(ctx, r.framework, r.env, r.folder); err != nil {
			return err
		}
	}
	e, err := r.program.run(ctx, t, most)
	switch {
	case errors.Is(err, errGone):
		c.End = died
		r.stop()
	case errors.Is(err, errLate):
		c.End = hangs
		r.stop()
	case err != nil:
		return err
	case e.Threw != "":
		c.End, c.Threw = threw, e.Threw
	default:
		c.End = done
	}
	return nil
}
