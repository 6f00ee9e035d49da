package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

const (
	// checkTime is how long a part may take to report whether it works, and checkAge how long its report
	// counts: frequent requests for readiness do not query the parts each time.
	checkTime = time.Second
	checkAge  = time.Second
)

// A dependency is something that the gateway uses and can do without for a while, such as a store.
type dependency struct {
	name  string
	check func(ctx context.Context) error
}

// ErrNotReady says that the gateway refuses requests while a part is missing.
var ErrNotReady = errors.New("requests are refused meanwhile")

// readiness reports whether the gateway takes requests, and what does not work. A gateway that has lost a
// part is still ready, unless the error is [ErrNotReady]: it serves what it can. If replicas became unready
// when their common store failed, an orchestrator would remove them all.
type readiness struct {
	mu       sync.Mutex
	draining bool
	parts    []dependency
	checked  time.Time
	troubles []trouble
	refuses  bool // because one of the parts is missing
}

// A trouble is a part that does not work.
type trouble struct {
	Part  string `json:"part"`
	Cause string `json:"cause"`
}

// readyState is the content of /readyz.
type readyState struct {
	Ready    bool      `json:"ready"`
	Reason   string    `json:"reason,omitempty"` // why it is not ready
	Troubles []trouble `json:"troubles,omitempty"`
}

func (r *readiness) state(ctx context.Context) readyState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return readyState{Reason: "draining"}
	}
	if now := time.Now(); now.Sub(r.checked) > checkAge {
		r.ask(context.WithoutCancel(ctx)) // the next request gets this answer, too
		r.checked = now
	}
	s := readyState{Ready: !r.refuses, Troubles: r.troubles}
	if r.refuses {
		s.Reason = "requests are refused, because a part does not work"
	}
	return s
}

// ask checks all parts at once.
func (r *readiness) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found := make([]error, len(r.parts))
	var asking sync.WaitGroup
	for i, p := range r.parts {
		asking.Go(func() { found[i] = p.check(ctx) })
	}
	asking.Wait()
	r.troubles, r.refuses = nil, false
	for i, err := range found {
		if err != nil {
			r.troubles = append(r.troubles, trouble{r.parts[i].name, redact.New(redact.Secrets).String(err.Error())})
			r.refuses = r.refuses || errors.Is(err, ErrNotReady)
		}
	}
}

// serve answers in JSON if the request accepts it, and in text otherwise.
func (r *readiness) serve(w http.ResponseWriter, req *http.Request) {
	s := r.state(req.Context())
	status := http.StatusOK
	if !s.Ready {
		status = http.StatusServiceUnavailable
	}
	if !strings.Contains(req.Header.Get("Accept"), wire.TypeJSON) {
		answer(w, status, s.text())
		return
	}
	form, err := json.Marshal(s)
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	answerAs(w, status, wire.TypeJSON, string(form))
}

func (s readyState) text() string {
	lines := []string{"ready"}
	if !s.Ready {
		lines[0] = s.Reason
	}
	for _, t := range s.Troubles {
		lines = append(lines, t.Part+": "+t.Cause)
	}
	return strings.Join(lines, "\n")
}
