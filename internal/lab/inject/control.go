package inject

import (
	"errors"
	"io"
	"net/http"

	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// maxPlan limits the size of a plan that is sent.
const maxPlan = 256 << 10

// Control returns the handler with which tests read the ledger and change the plan:
//
//	GET  /ledger   what became of the calls
//	GET  /faults   the seed, and what each rule has done
//	PUT  /faults   another plan, YAML or JSON
//	POST /reset    an empty ledger, and rules that begin anew
//
// It is for a listener on the loopback interface, and refuses requests from web pages. Plans can only name
// built-in contracts.
func Control(i *Injector, traffic Traffic) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ledger", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, i.Ledger()) })
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { respondRules(w, i) })
	mux.HandleFunc("PUT /faults", func(w http.ResponseWriter, r *http.Request) {
		src, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPlan))
		if err != nil {
			http.Error(w, "the plan cannot be read, or is too large", http.StatusRequestEntityTooLarge)
			return
		}
		plan, err := Parse("", src, Options{Traffic: traffic})
		if err != nil {
			respond(w, http.StatusUnprocessableEntity, mistakesOf(err))
			return
		}
		i.SetPlan(plan)
		respondRules(w, i)
	})
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		i.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	return local(mux)
}

// local refuses requests from browsers: from a page, or from a name that was made to point here.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" || !door.IsLoopback(r.Host) {
			http.Error(w, "the control API is for programs on this machine", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func respondRules(w http.ResponseWriter, i *Injector) {
	seed, states := i.Rules()
	respond(w, http.StatusOK, struct {
		Seed  int64       `json:"seed"`
		Rules []RuleState `json:"rules"`
	}{seed, states})
}

// A mistake is one of those in a plan that was sent.
type mistake struct {
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func mistakesOf(err error) any {
	var list []mistake
	if all, ok := errors.AsType[strictyaml.Errors](err); ok {
		for _, e := range all {
			list = append(list, mistake{e.Pos.Line, e.Pos.Column, e.Message, e.Hint})
		}
	}
	return struct {
		Mistakes []mistake `json:"mistakes"`
	}{list}
}

func respond(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(raw, '\n')) // a client that has gone needs no answer
}
