package admin

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/wire"
)

const (
	// checkTime is how long a part may take to say whether it works, and checkAge how long its word holds: whoever asks
	// for readiness all the time does not ask the parts all the time.
	checkTime = time.Second
	checkAge  = time.Second
)

// A part is something that the gateway uses and can do without for a while, such as a store.
type part struct {
	name  string
	check func(ctx context.Context) error
}

// readiness says whether the gateway takes requests, and what does not work. A gateway that has lost a part is ready all the same: it
// serves what it can, and an orchestrator that took all replicas out for the sake of their common store would leave nobody to serve
// at all.
type readiness struct {
	mu       sync.Mutex
	draining bool
	parts    []part
	checked  time.Time
	troubles []trouble
}

// A trouble is a part that does not work.
type trouble struct {
	Part  string `json:"part"`
	Cause string `json:"cause"`
}

// state is what /readyz says.
type state struct {
	Ready    bool      `json:"ready"`
	Reason   string    `json:"reason,omitempty"` // why it is not
	Troubles []trouble `json:"troubles,omitempty"`
}

func (r *readiness) state(ctx context.Context) state {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return state{Reason: "draining"}
	}
	if now := time.Now(); now.Sub(r.checked) > checkAge {
		r.troubles, r.checked = r.ask(context.WithoutCancel(ctx)), now // whoever asks next gets this answer, too
	}
	return state{Ready: true, Troubles: r.troubles}
}

// ask asks all parts at once.
func (r *readiness) ask(ctx context.Context) []trouble {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found := make([]error, len(r.parts))
	var asking sync.WaitGroup
	for i, p := range r.parts {
		asking.Go(func() { found[i] = p.check(ctx) })
	}
	asking.Wait()
	var troubles []trouble
	for i, err := range found {
		if err != nil {
			troubles = append(troubles, trouble{r.parts[i].name, redact.New(redact.Secrets).String(err.Error())})
		}
	}
	return troubles
}

// serve answers in JSON whoever asks for that, and in text otherwise.
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

func (s state) text() string {
	if !s.Ready {
		return s.Reason
	}
	lines := []string{"ready"}
	for _, t := range s.Troubles {
		lines = append(lines, t.Part+": "+t.Cause)
	}
	return strings.Join(lines, "\n")
}
