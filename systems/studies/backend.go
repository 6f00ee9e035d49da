package studies

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// The limits of a free plan.
const (
	maxWorkspaces = 4
	maxStudies    = 3 // per workspace
	maxPeople     = 5 // per workspace
	planFree      = "free"
	planTeam      = "team"
)

// tokens are the tokens that the service accepts, with their owners.
var tokens = map[string]string{Token: "dana@example.com", OtherToken: "rui@example.org"}

// backend is the service: an HTTP API of its own, which knows ids but no aliases.
type backend struct {
	mux http.ServeMux

	mu         sync.Mutex
	caller     string // the owner of the current request's token
	lastID     int
	workspaces []*workspace
	studies    []*study
	people     []*person
	asks       []*asking
	endpoints  []*localEndpoint
	chatbots   []*chatbot
	uploads    []*upload
}

func newBackend() *backend {
	b := &backend{}
	b.fill()
	for pattern, handle := range map[string]func(r *http.Request) (any, error){
		"GET /workspaces":                b.listWorkspaces,
		"POST /workspaces":               b.createWorkspace,
		"GET /workspaces/{id}":           b.getWorkspace,
		"DELETE /workspaces/{id}":        b.deleteWorkspace,
		"GET /studies":                   b.listStudies,
		"POST /studies":                  b.createStudy,
		"GET /studies/{id}":              b.getStudy,
		"DELETE /studies/{id}":           b.deleteStudy,
		"POST /studies/{id}/iterations":  b.createIteration,
		"POST /studies/{id}/runs":        b.createRun,
		"POST /studies/{id}/analyses":    b.createAnalysis,
		"POST /iterations/{id}/people":   b.attachPerson,
		"GET /participants/{id}":         b.getParticipant,
		"GET /people":                    b.listPeople,
		"POST /people":                   b.createPerson,
		"GET /people/{id}":               b.getPerson,
		"DELETE /people/{id}":            b.deletePerson,
		"GET /asks":                      b.listAsks,
		"POST /asks":                     b.createAsk,
		"GET /asks/{id}":                 b.getAsk,
		"PATCH /workspaces/{id}":         b.updateWorkspace,
		"GET /workspaces/{id}/brand":     b.getBrand,
		"PUT /workspaces/{id}/brand":     b.setBrand,
		"GET /workspaces/{id}/logins":    b.listLogins,
		"PUT /workspaces/{id}/logins":    b.setLogin,
		"DELETE /workspaces/{id}/logins": b.deleteLogin,
		"PATCH /studies/{id}":            b.updateStudy,
		"POST /studies/{id}/benchmark":   b.cloneStudy,
		"PATCH /iterations/{id}":         b.updateIteration,
		"POST /participants/{id}/turns":  b.extendParticipant,
		"PATCH /people/{id}":             b.updatePerson,
		"POST /people/generated":         b.generatePeople,
		"POST /asks/{id}/rounds":         b.askAgain,
		"DELETE /asks/{id}":              b.deleteAsk,
		"GET /chatbots":                  b.listChatbots,
		"GET /chatbots/{id}":             b.getChatbot,
		"DELETE /chatbots/{id}":          b.deleteChatbot,
		"GET /uploads":                   b.listUploads,
		"POST /uploads":                  b.createUpload,
		"GET /me":                        b.getMe,
		"POST /chatbots":                 b.createChatbot,
		"POST /endpoints":                b.createEndpoint,
		"DELETE /endpoints/{id}":         b.deleteEndpoint,
	} {
		b.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			b.mu.Lock()
			defer b.mu.Unlock() // answers share memory with the state
			b.caller = tokens[bearer(r.Header)]
			value, err := handle(r)
			answer(w, value, err)
		})
	}
	return b
}

// ServeHTTP checks the token and serves the API.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := bearer(r.Header)
	switch _, known := tokens[token]; {
	case strings.HasPrefix(token, "staging_"):
		answer(w, nil, refuse(http.StatusUnauthorized, "signing_key_mismatch", "The token was signed with the key of another environment."))
		return
	case !known:
		answer(w, nil, refuse(http.StatusUnauthorized, "", "Invalid or expired token."))
		return
	}
	if !b.fails(w, r) {
		b.mux.ServeHTTP(w, r)
	}
}

// bearer returns the token of a request, or "".
func bearer(header http.Header) string {
	token, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return strings.TrimSpace(token)
}

// backendError is an answer of the service that reports a failure.
type backendError struct {
	status int

	Code        string         `json:"error_code,omitempty"`
	Message     string         `json:"message,omitempty"`
	Suggestions []string       `json:"suggestions,omitempty"`
	Envelope    map[string]any `json:"envelope,omitempty"`
}

// Error returns the message.
func (r *backendError) Error() string { return r.Message }

func refuse(status int, code, format string, args ...any) *backendError {
	return &backendError{status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func answer(w http.ResponseWriter, value any, err error) {
	r, refused := err.(*backendError) //nolint:errorlint // handlers wrap nothing
	switch {
	case refused:
		if r.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "12")
		}
		loopback.Answer(w, r.status, r)
	case err != nil:
		loopback.Answer(w, http.StatusBadRequest, refuse(0, "", "The body is not what was expected."))
	default:
		loopback.Answer(w, http.StatusOK, value)
	}
}

// read decodes the body of a request.
func read[T any](r *http.Request) (T, error) {
	const most = 1 << 20
	var in T
	err := json.NewDecoder(io.LimitReader(r.Body, most)).Decode(&in)
	return in, err
}

// listing is the form of answers with lists.
type listing[T any] struct {
	Items []T `json:"items"`
}

// newID returns a fresh UUID.
func (b *backend) newID() string {
	b.lastID++
	return fmt.Sprintf("5d2c9e1a-7b40-4f6e-9a31-%012x", b.lastID)
}

func notFound(what string) *backendError {
	return refuse(http.StatusNotFound, "not_found", "There is no such %s.", what)
}

// find returns the thing with an id.
func find[T any](things []*T, id string, idOf func(*T) string) (*T, bool) {
	i := slices.IndexFunc(things, func(t *T) bool { return idOf(t) == id })
	if i < 0 {
		return nil, false
	}
	return things[i], true
}

func (b *backend) workspace(id string) (*workspace, error) {
	w, ok := find(b.workspaces, id, func(w *workspace) string { return w.ID })
	if !ok {
		return nil, notFound("workspace")
	}
	if w.owner != b.caller {
		return nil, refuse(http.StatusForbidden, "forbidden", "The workspace belongs to somebody else.")
	}
	return w, nil
}

func (b *backend) study(id string) (*study, error) {
	s, ok := find(b.studies, id, func(s *study) string { return s.ID })
	if !ok {
		return nil, notFound("study")
	}
	_, err := b.workspace(s.WorkspaceID)
	return s, err
}

func (b *backend) person(id string) (*person, error) {
	p, ok := find(b.people, id, func(p *person) string { return p.ID })
	if !ok {
		return nil, notFound("person")
	}
	_, err := b.workspace(p.WorkspaceID)
	return p, err
}

func (b *backend) iteration(id string) (*iteration, error) {
	for _, s := range b.studies {
		if i, ok := find(s.Iterations, id, func(i *iteration) string { return i.ID }); ok {
			_, err := b.study(s.ID)
			return i, err
		}
	}
	return nil, notFound("iteration")
}

// ofWorkspace returns the things of the workspace that a request names, or all things of the owner's
// workspaces.
func ofWorkspace[T any](b *backend, r *http.Request, things []*T, workspaceOf func(*T) string) (any, error) {
	id := r.URL.Query().Get(paramWorkspace)
	if id != "" {
		if _, err := b.workspace(id); err != nil {
			return nil, err
		}
	}
	found := listing[*T]{Items: []*T{}}
	for _, t := range things {
		if _, err := b.workspace(workspaceOf(t)); err == nil && (id == "" || workspaceOf(t) == id) {
			found.Items = append(found.Items, t)
		}
	}
	return found, nil
}

// full refuses something for which a free plan has no room.
func full(what string, most int) *backendError {
	return refuse(http.StatusForbidden, "usage_limit_reached", "The free plan holds %d %s, and all of them are taken.", most, what)
}
