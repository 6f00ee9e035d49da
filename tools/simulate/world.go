package main

import (
	"embed"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

//go:embed worlds/*.yaml
var worldFiles embed.FS

// worldOutage is the world that is played at several rates.
const worldOutage = "outage"

// worldSilent is the one in which failures look like successes.
const worldSilent = "silent"

// A world says how often tasks come, and what goes wrong.
type world struct {
	Name   string
	Title  string        `yaml:"title,required"`
	Doc    string        `yaml:"doc,required"`
	Every  time.Duration `default:"2s" yaml:"every"` // the mean time between two tasks
	Burst  int           `default:"1"  yaml:"burst"` // tasks that come together, Burst times Every apart
	Faults []trouble     `yaml:"faults"`
}

// A trouble is something that goes wrong: at random, in a window of time, or beyond a limit.
type trouble struct {
	Fault   string        `yaml:"fault,required"`
	Tool    string        `yaml:"tool"`    // reads or writes; "": both
	Rate    float64       `yaml:"rate"`    // of the calls, or of the tasks if it is lasting
	Lasting bool          `yaml:"lasting"` // it affects every call of a task
	After   bool          `yaml:"after"`   // a write takes effect before it
	Wait    time.Duration `yaml:"wait"`    // stated by the server
	Window  *outage       `yaml:"window"`
	Limit   *limit        `yaml:"limit"`
}

// An outage is a time in which every call fails: the end of each period of length Every.
type outage struct {
	Every time.Duration `yaml:"every,required"`
	For   time.Duration `yaml:"for,required"`
}

// A limit is how many calls the server answers in each span of time.
type limit struct {
	Calls int           `yaml:"calls,required"`
	Per   time.Duration `yaml:"per,required"`
}

// Explicit faults.
const (
	faultUnavailable = "unavailable" // 503
	faultLimited     = "limited"     // 429
	faultUnreachable = "unreachable" // what the server depends on cannot be reached
	faultLost        = "lost"        // no answer comes
	faultReset       = "reset"       // the connection breaks

	// Silent faults: they look like a success.

	faultEmpty = "empty" // an empty list
	faultStale = "stale" // an old copy
	faultText  = "text"  // the text of an error
)

// silent reports whether the fault looks like a success.
func (f *trouble) silent() bool {
	return f.Fault == faultEmpty || f.Fault == faultStale || f.Fault == faultText
}

// losesWrites reports whether the answer to a write may be lost after it took effect.
func (w *world) losesWrites() bool {
	return slices.ContainsFunc(w.Faults, func(f trouble) bool { return f.After })
}

// meets reports whether the fault affects calls that write, or calls that read.
func (f *trouble) meets(writes bool) bool {
	return f.Tool == "" || writes == (f.Tool == "writes")
}

// ends returns when the current window or span of a limit ends, and whether a window is open now.
func (w *outage) ends(now time.Time) (end time.Time, open bool) {
	into := now.Sub(epoch) % w.Every
	return now.Add(w.Every - into), into >= w.Every-w.For
}

// outage returns the fault whose window is open now, and when it closes; nil if there is none.
func (w *world) outage(now time.Time) (f *trouble, end time.Time) {
	for i := range w.Faults {
		if f := &w.Faults[i]; f.Window != nil {
			if end, open := f.Window.ends(now); open {
				return f, end
			}
		}
	}
	return nil, now
}

// allWorlds reads the worlds, in the order of their files.
func allWorlds() ([]*world, error) {
	names, err := fs.Glob(worldFiles, "worlds/*.yaml")
	if err != nil {
		return nil, err
	}
	worlds := make([]*world, 0, len(names))
	for _, name := range names {
		src, err := worldFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		_, stem, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".yaml"), "-")
		w, err := parseWorld(name, src)
		if err != nil {
			return nil, err
		}
		w.Name = stem
		worlds = append(worlds, w)
	}
	return worlds, nil
}

func parseWorld(name string, src []byte) (*world, error) {
	doc, err := strictyaml.Parse(name, src)
	if err != nil {
		return nil, err
	}
	w := new(world)
	doc.Decode(w)
	for i := range w.Faults {
		w.Faults[i].check(doc, doc.Root().Get("faults").Item(i))
	}
	return w, doc.Err()
}

func (f *trouble) check(doc *strictyaml.Document, n *strictyaml.Node) {
	switch f.Fault {
	case faultUnavailable, faultLimited, faultUnreachable, faultLost, faultReset, faultEmpty, faultStale, faultText:
	default:
		doc.Reportf(n.Get("fault").Pos(), "", "there is no fault `%s`", f.Fault)
	}
	if f.Tool != "" && f.Tool != "reads" && f.Tool != "writes" {
		doc.Reportf(n.Get("tool").Pos(), "reads or writes", "there is no such tool")
	}
	causes := 0
	for _, given := range []bool{f.Rate > 0, f.Window != nil, f.Limit != nil} {
		if given {
			causes++
		}
	}
	switch {
	case causes != 1:
		doc.Reportf(n.Pos(), "", "expected one of `rate`, `window` and `limit`")
	case f.Rate > 1:
		doc.Reportf(n.Get("rate").Pos(), "", "a rate is at most 1")
	case f.Window != nil && (f.Window.For <= 0 || f.Window.Every <= f.Window.For):
		doc.Reportf(n.Get("window").Pos(), "", "a window is shorter than the time from one to the next")
	case f.Limit != nil && (f.Limit.Calls < 1 || f.Limit.Per <= 0):
		doc.Reportf(n.Get("limit").Pos(), "", "a limit lets some calls through")
	}
}

// comes returns when a task begins.
func (w *world) comes(number int) time.Time {
	return epoch.Add(time.Duration(number/w.Burst*w.Burst) * w.Every)
}

// A luck is the random numbers of one task.
type luck struct {
	random  *rand.Rand
	lasting map[*trouble]bool
}

// luckOf returns the luck of a task: the same for every agent.
func (w *world) luckOf(seed uint64, number int) luck {
	source := rand.NewPCG(seed, uint64(number))
	l := luck{random: rand.New(source), lasting: map[*trouble]bool{}}
	for i := range w.Faults {
		if f := &w.Faults[i]; f.Lasting {
			l.lasting[f] = l.random.Float64() < f.Rate
		}
	}
	return l
}
