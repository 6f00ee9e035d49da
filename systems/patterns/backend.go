package patterns

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// apiKey identifies the backend's client.
const apiKey = "pk_local_library"

// The search arguments, in the API and in the tools.
const (
	paramQuery      = "q"
	paramCategory   = "category"
	paramDifficulty = "difficulty"
)

// codeLimit is the backend's code for a limit that is out of bounds.
const codeLimit = "invalid_limit"

// maxLimit is the largest number of hits that a search returns.
const maxLimit = 100

// A pattern is a design pattern.
type pattern struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Category   string `json:"category"`
	Difficulty string `json:"difficulty"`
	Summary    string `json:"summary"`
}

// A check is something that code is analyzed for.
type check struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Summary  string `json:"summary"`
	Pattern  string `json:"pattern"` // the pattern that helps

	sign *regexp.Regexp // matches in a line of code
}

// A finding is a place in code where a rule applies.
type finding struct {
	Line    int    `json:"line"`
	Rule    string `json:"rule"`
	Summary string `json:"summary"`
	Pattern string `json:"pattern"`
}

// backend is the library: an HTTP API of its own.
type backend struct {
	patterns []pattern
	failed   atomic.Bool // fault-once has been requested
	mux      http.ServeMux
}

func newBackend() (*backend, error) {
	b := &backend{}
	if err := json.Unmarshal(library, &b.patterns); err != nil {
		return nil, fmt.Errorf("library.json: %w", err)
	}
	b.mux.HandleFunc("GET /api/patterns", b.search)
	b.mux.HandleFunc("GET /api/patterns/{id}", b.get)
	b.mux.HandleFunc("GET /api/skills", b.searchSkills)
	b.mux.HandleFunc("GET /api/skills/{slug}", b.getSkill)
	b.mux.HandleFunc("GET /api/rules", b.listRules)
	b.mux.HandleFunc("POST /api/analyses", b.analyze)
	return b, nil
}

// ServeHTTP checks the key and serves the API.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Api-Key") != apiKey {
		loopback.Refuse(w, http.StatusUnauthorized, "invalid_api_key")
		return
	}
	b.mux.ServeHTTP(w, r)
}

// fails reports whether text requested a fault, which it has then sent.
func (b *backend) fails(w http.ResponseWriter, r *http.Request, text string) bool {
	fault := loopback.Fault(text)
	switch fault {
	case "odd":
		loopback.Answer(w, http.StatusOK, map[string]string{"error": "cache_poisoned"})
		return true
	case "once":
		if !b.failed.CompareAndSwap(false, true) {
			b.failed.Store(false)
			return false
		}
		fault = "500"
	}
	return loopback.Fail(w, r, fault)
}

func (b *backend) search(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if b.fails(w, r, query.Get(paramQuery)+" "+query.Get(paramCategory)) {
		return
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > maxLimit {
		loopback.Refuse(w, http.StatusBadRequest, codeLimit)
		return
	}
	found := hits{Categories: map[string]int{}, Patterns: []pattern{}}
	for _, p := range b.patterns {
		if matches(p.ID+" "+p.Name+" "+p.Summary, query.Get(paramQuery)) &&
			oneOf(query.Get(paramCategory), p.Category) && oneOf(query.Get(paramDifficulty), p.Difficulty) {
			found.Total++
			found.Categories[p.Category]++
			if len(found.Patterns) < limit {
				found.Patterns = append(found.Patterns, p)
			}
		}
	}
	loopback.Answer(w, http.StatusOK, found)
}

func (b *backend) searchSkills(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if b.fails(w, r, query.Get(paramQuery)) {
		return
	}
	found := slices.DeleteFunc(slices.Clone(skills), func(k skill) bool {
		q := query.Get(paramQuery)
		return q != "" && !matches(k.Title+" "+k.Guide, q) || !oneOf(query.Get(paramCategory), k.Category)
	})
	loopback.Answer(w, http.StatusOK, found)
}

func (b *backend) getSkill(w http.ResponseWriter, r *http.Request) {
	slug := r.PathValue("slug")
	if b.fails(w, r, slug) {
		return
	}
	i := slices.IndexFunc(skills, func(k skill) bool { return k.Slug == slug })
	if i < 0 {
		loopback.Refuse(w, http.StatusNotFound, "skill_not_found")
		return
	}
	loopback.Answer(w, http.StatusOK, skills[i])
}

// oneOf reports whether a filter allows value: an empty one does.
func oneOf(filter, value string) bool { return filter == "" || strings.EqualFold(filter, value) }

// matches reports whether a word of q occurs in text. Words with the same beginning count, so that typing
// mistakes do no harm.
func matches(text, q string) bool {
	const alike = 4
	words := strings.Fields(strings.ToLower(text))
	return slices.ContainsFunc(strings.Fields(strings.ToLower(q)), func(term string) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			return strings.Contains(word, term) || len(term) > alike && strings.HasPrefix(word, term[:alike])
		})
	})
}

func (b *backend) get(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if b.fails(w, r, id) {
		return
	}
	i := slices.IndexFunc(b.patterns, func(p pattern) bool { return p.ID == id })
	if i < 0 {
		loopback.Refuse(w, http.StatusNotFound, "pattern_not_found")
		return
	}
	loopback.Answer(w, http.StatusOK, b.patterns[i])
}

func (b *backend) listRules(w http.ResponseWriter, r *http.Request) {
	category := r.URL.Query().Get(paramCategory)
	if b.fails(w, r, category) {
		return
	}
	rules := slices.DeleteFunc(slices.Clone(analysisRules), func(r check) bool { return !oneOf(category, r.Category) })
	if len(rules) == 0 {
		loopback.Refuse(w, http.StatusNotFound, "category_not_found")
		return
	}
	loopback.Answer(w, http.StatusOK, rules)
}

func (b *backend) analyze(w http.ResponseWriter, r *http.Request) {
	const most = 1 << 20
	var in codeArgs
	if err := json.NewDecoder(io.LimitReader(r.Body, most)).Decode(&in); err != nil {
		loopback.Refuse(w, http.StatusBadRequest, "invalid_body")
		return
	}
	if b.fails(w, r, in.Code) {
		return
	}
	findings := []finding{}
	line := 0
	for text := range strings.Lines(in.Code) {
		line++
		for _, rule := range analysisRules {
			if rule.sign.MatchString(text) {
				findings = append(findings, finding{Line: line, Rule: rule.ID, Summary: rule.Summary, Pattern: rule.Pattern})
			}
		}
	}
	loopback.Answer(w, http.StatusOK, findings)
}
