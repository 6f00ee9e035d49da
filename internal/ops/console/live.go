package console

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse/internal/pause"
)

const (
	// maxStreams limits how many pages are informed of new failures at a time.
	maxStreams = 16
	// lookEvery is how often a page's stream looks for new failures, and renewEvery how often the page is
	// sent again without any.
	lookEvery  = time.Second
	renewEvery = 30 * time.Second
	// rest is the pause before a list is read again, as a multiple of the time that reading it took.
	rest = 10
	// sendTime limits how long a browser may take to accept what is sent.
	sendTime = 10 * time.Second
)

// live sends a page's list again, as events, whenever there are new failures.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	q, err := readQuery(r, c.now())
	if err != nil || c.Journal == nil || !(&failureList{query: q}).follows() {
		http.Error(w, "There is nothing to follow.", http.StatusNotFound)
		return
	}
	select {
	case c.streams <- struct{}{}:
		defer func() { <-c.streams }()
	default:
		w.Header().Set("Retry-After", "30")
		http.Error(w, "Too many pages are open.", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := &feed{c: c, w: w, query: q, seen: seenBefore(r)}
	s.run(r)
}

// seenBefore returns the Seq of the latest failure that a page has already shown.
func seenBefore(r *http.Request) int64 {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("seen")
	}
	seen, _ := strconv.ParseInt(text, 10, 64) // of any other text: nothing
	return seen
}

// A feed updates one page.
type feed struct {
	c     *Console
	w     http.ResponseWriter
	query *query

	seen int64     // the latest failure that the page has shown
	last int64     // the latest entry of the journal when the list was read
	read time.Time // when that was
	wait time.Duration
	lost bool // the page says that the store cannot be read
}

func (s *feed) run(r *http.Request) {
	ctx := r.Context()
	if s.send("", templ.NopComponent) != nil { // tells the browser that the stream has begun
		return
	}
	s.last, s.read = s.seen, time.Now()
	for pause.For(ctx, max(lookEvery, s.wait)) {
		if _, err := s.c.operator(r); err != nil || s.look(ctx, r) != nil {
			return
		}
	}
}

// look sends the list if there is something new in the journal. Its error is that of the browser's connection.
func (s *feed) look(ctx context.Context, r *http.Request) error {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	last, err := s.c.last(ctx)
	if err == nil && last == s.last && time.Since(s.read) < renewEvery && !s.lost {
		return s.send("", templ.NopComponent)
	}
	began := time.Now()
	var list *failureList
	if err == nil {
		var q *query
		if q, err = readQuery(r, s.c.now()); err == nil { // time passes
			list, err = s.c.list(ctx, q)
		}
	}
	s.read, s.wait = time.Now(), rest*time.Since(began)
	if err != nil {
		s.lost = true
		return s.send("", storeLost())
	}
	s.last, s.lost = last, false
	list.seen = s.seen
	for _, call := range list.calls {
		if call.Seq > s.seen && s.seen > 0 {
			list.news++
		}
	}
	s.seen = max(s.seen, list.latest())
	return s.send(strconv.FormatInt(s.seen, 10), failures(list))
}

// last returns the Seq of the latest entry of the journal.
func (c *Console) last(ctx context.Context) (int64, error) {
	done, err := c.reading(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return c.Journal.Last(ctx)
}

// send sends an event with the page's content; an empty one is a comment, which keeps the connection alive.
func (s *feed) send(id string, what templ.Component) error {
	var page bytes.Buffer
	if err := what.Render(context.Background(), &page); err != nil {
		return err
	}
	var event strings.Builder
	if page.Len() == 0 {
		event.WriteString(":\n")
	} else if id != "" {
		fmt.Fprintf(&event, "id: %s\n", id)
	}
	text := strings.ReplaceAll(page.String(), "\r", "\n") // both end a line of an event
	for line := range strings.Lines(text) {
		event.WriteString("data: " + strings.TrimSuffix(line, "\n") + "\n")
	}
	event.WriteString("\n")
	control := http.NewResponseController(s.w)
	if err := control.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(event.String())); err != nil {
		return err
	}
	return control.Flush()
}
