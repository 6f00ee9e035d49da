package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/upstream/api"
	"github.com/recoursehq/recourse/retry"
)

// provided reads the answer of an HTTP API's provider again, with everything that the gateway knows about its
// errors. Any other error is returned unchanged.
func (c *call) provided(e *recourse.Error) *recourse.Error {
	refusal, ok := errors.AsType[*api.RefusedError](e.Cause())
	if !ok {
		return e
	}
	c.out.last.Status = refusal.Status
	refused, narrowed := c.refusesAccount(refusal.Status, refusal.Header)
	if narrowed != nil {
		return narrowed
	}
	if c.out.last.refused = refused; refused {
		return e.WithEffect(recourse.EffectNone)
	}
	if refusal.Status == http.StatusUnauthorized && !c.to.passesCredentials && !c.on.forwards("Authorization") {
		return c.to.misconfigured(refusal.Status, refusal.Body).WithProvider(c.to.Title)
	}
	c.out.last.answered = refusal.Status != http.StatusUnauthorized
	reader := contract.Reader{Weak: c.to.weak, Families: c.to.families, Trusted: c.to.Trusted, Provider: c.to.Title}
	if c.to.weak != nil {
		reader.Contracts = []*contract.Contract{c.to.weak}
	}
	read := reader.HTTP(refusal.Status, refusal.Header, refusal.Body).Error()
	if read == nil { // a question that nobody here can answer
		return e
	}
	return withViolations(read).WithOrigin(recourse.OriginProvider).WithProvider(c.to.Title).With(func(r *recourse.Error) {
		r.Upstream.Status = refusal.Status
		if r.Upstream.RequestID == "" {
			r.Upstream.RequestID = e.Upstream.RequestID
		}
		if r.Effect == "" && refuses(refusal.Status) && retry.Effect(r, retry.Writes) == recourse.EffectNone {
			r.Effect = recourse.EffectNone
		}
	}).CausedBy(refusal)
}

const (
	maxTold     = 5   // how many violations a sentence lists
	maxToldText = 300 // size of each in bytes
)

// withViolations adds the provider's objections to each argument to the sentence, unless the sentence has
// them: a model acts on the text alone.
func withViolations(e *recourse.Error) *recourse.Error {
	said := strings.TrimSuffix(e.Message, ".") + ". "
	if strings.HasPrefix(said, "{") || strings.HasPrefix(said, "[{") { // the whole body, since there is no sentence
		said = ""
	}
	var told []string
	for _, v := range e.Violations[:min(len(e.Violations), maxTold)] {
		if v.Message != "" && !strings.Contains(said, v.Message) {
			told = append(told, strings.TrimPrefix(v.Param+": "+observe.Cut(v.Message, maxToldText), ": "))
		}
	}
	if told == nil {
		return e
	}
	return e.WithMessage("%s%s", said, strings.Join(told, "; "))
}

// refuses reports whether a status may mean that nothing was done: what the body of a 5xx says does not
// count.
func refuses(status int) bool {
	return status < http.StatusInternalServerError && status != http.StatusRequestTimeout || status == http.StatusNotImplemented
}

// keyMembers are the members of _meta in which a client sends a call's idempotency key, the most likely
// first.
var keyMembers = []string{"io.github.recoursehq/idempotencyKey", "idempotency-key", "idempotency_key"}

// addKey gives an HTTP API the call's idempotency key, the same for every repetition. A client's own key is
// kept apart from those of other callers and tools.
func (c *call) addKey(header http.Header) {
	if c.to.API == nil || !c.req.isCall() {
		return
	}
	if c.out.key == "" {
		c.out.key = c.newKey()
	}
	header[api.KeyHeader] = []string{c.out.key}
}

func (c *call) newKey() string {
	given := c.req.http.Header.Get(api.KeyHeader)
	for _, name := range keyMembers {
		if raw := json.Lookup(c.req.msg.Meta, json.Pointer("").AppendToken(name)); raw.Kind() == '"' && given == "" {
			given = string(raw)
		}
	}
	if given == "" {
		return rand.Text()
	}
	sum := sha256.Sum256(slices.Concat(c.who.id[:], []byte(c.on.Name+" "+c.req.msg.Name+" "+given)))
	return hex.EncodeToString(sum[:16])
}
