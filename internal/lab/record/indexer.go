package record

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// garbage is the method of what is no message.
const garbage = "\x00"

// indexer finds out which cue each line of a recording belongs to.
type indexer struct {
	r    *Recording
	open map[string]*dialogue // by what their lines are marked with: over HTTP, an exchange is one

	numbers map[string]int32 // of the sessions
}

// dialogue is what is known of a session at some line.
type dialogue struct {
	last    *cue
	waiting []unanswered
}

// unanswered is a request without its answer.
type unanswered struct {
	id, token json.Value
	cue       *cue
}

var errLine = errors.New("it is not one of a recording")

// line takes a line, and reports whether it begins a session.
func (x *indexer) line(text []byte, at int64, mustBegin bool) (begins bool, err error) {
	if mustBegin || strings.HasPrefix(string(text[:min(len(text), 64)]), `{"format":`) {
		f, err := readFirst(text)
		if err != nil {
			return false, err
		}
		x.r.http = x.r.http || f.Transport == "http"
		x.numbers[f.In] = int32(len(x.numbers))
		return true, nil
	}
	var e fileEntry
	if json.UnmarshalLenient(text, &e) != nil || e.In == "" {
		return false, errLine
	}
	x.r.n++
	s := x.open[e.In]
	if s == nil {
		s = &dialogue{}
		x.open[e.In] = s
	}
	switch e.From {
	case client:
		x.client(s, &e)
	case server:
		s.server(x.r, &e, location{at: at, size: int32(len(text))})
	}
	over := e.End != "" || len(s.waiting) == 0 && s.last != nil && (s.last.asks || e.Status == http.StatusAccepted)
	if over && strings.Contains(e.In, "-") {
		delete(x.open, e.In) // the exchange is over
	}
	return false, nil
}

// client takes what the client said.
func (x *indexer) client(s *dialogue, e *fileEntry) {
	if e.End != "" {
		for _, w := range s.waiting { // a program may still answer
			w.cue.silent = true
		}
		return
	}
	m, method := read(e.Message), garbage
	switch {
	case e.HTTP != "" && e.HTTP != "POST":
		method = e.HTTP
	case m.Method != "":
		method = m.Method
	case m.answers() && e.HTTP == "":
		return
	case m.answers():
		s.last = &cue{} // the server's 202 is nobody's answer
		return
	}
	words, exactly, loosely := keys(method, &m)
	in, _, _ := strings.Cut(e.In, "-")
	c := &cue{words: words, session: x.numbers[in], last: e.At, asks: m.asks(), calls: method == wire.MethodToolsCall}
	s.last = c
	if c.asks {
		s.waiting = append(s.waiting, unanswered{m.ID, m.token(), c})
	}
	if id := json.Lookup(m.Params, "/requestId"); m.Method == wire.MethodCancelled && id != nil {
		s.waiting = slices.DeleteFunc(s.waiting, func(w unanswered) bool {
			given := wire.ID(w.id).Equal(wire.ID(id))
			w.cue.silent = w.cue.silent || given
			return given
		})
	}
	x.r.cues = append(x.r.cues, c)
	x.r.exactly[exactly] = append(x.r.exactly[exactly], c)
	x.r.loosely[loosely] = append(x.r.loosely[loosely], c)
}

// server takes what the server said.
func (s *dialogue) server(r *Recording, e *fileEntry, l location) {
	m := read(e.Message)
	c := s.belongs(&m)
	if c == nil {
		c = &r.prelude
	}
	if e.End != "" && (!c.asks || c.answered || c.silent && e.End == Fine) {
		return // it ended when it was time
	}
	l.gap = max(0, time.Duration((e.At-c.last)*float64(time.Second)))
	c.lines, c.last = append(c.lines, l), e.At
	if m.answers() && m.ID != nil || e.End != "" || e.Status >= http.StatusBadRequest || e.LeftOut > 0 {
		c.answered, c.refused = true, c.refused || e.Status >= http.StatusBadRequest
		s.waiting = slices.DeleteFunc(s.waiting, func(w unanswered) bool { return w.cue == c })
	}
}

// belongs returns what a message belongs to: the request that it answers or is about, otherwise the one that came last.
func (s *dialogue) belongs(m *spoken) *cue {
	token := m.token()
	for _, w := range s.waiting {
		switch {
		case m.answers() && m.ID != nil && wire.ID(w.id).Equal(wire.ID(m.ID)):
			return w.cue
		case m.Method == wire.MethodProgress && token != nil && string(token) == string(w.token):
			return w.cue
		}
	}
	if len(s.waiting) > 0 {
		return s.waiting[len(s.waiting)-1].cue
	}
	return s.last
}
