package failures

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/upstream/api"
	"github.com/recoursehq/recourse/retry"
)

// HTTP reads an answer whose status is not 200; cut is as in [contract.Reader].
func (r *Reader) HTTP(status int, header http.Header, body []byte, cut string) contract.Reading {
	switch {
	case status == http.StatusUnauthorized && !r.PassesCredentials:
		return contract.Reading{Failure: r.misconfigured(status, body), Sign: "HTTP status 401"}
	case status < http.StatusBadRequest:
		e := r.BadResponse(fmt.Errorf("HTTP %d, Location %q: %s", status, header.Get("Location"), observe.Beginning(string(body)))).
			WithUpstream(recourse.Upstream{Status: status}).
			WithMessage("%s answered with HTTP status %d, which is not an answer to an MCP request.", r.entry.Title, status)
		return contract.Reading{Failure: e, Sign: "HTTP status"}
	}
	reading := r.cut(cut).HTTP(status, header, body)
	e := reading.Error()
	switch {
	case e == nil:
		reading.Failure = recourse.FromStatus(r.entry.Title, status).WithOrigin(recourse.OriginServer)
	case status == http.StatusForbidden && e.Kind == recourse.KindMissingScope && reading.Contract == nil && !r.PassesCredentials:
		reading.Failure = r.misconfigured(status, body)
	case reading.Contract == nil && aboutThings(e.Kind) && !IsRPCError(json.Lookup(body, "/error")):
		// The status comes from the endpoint, and says nothing about what the tool was asked to do. Its sentence may.
		refused := recourse.ClientError(r.entry.Title, status).WithOrigin(recourse.OriginServer).
			WithUpstream(e.Upstream).WithEffect(e.Effect).WithRetryAfter(e.RetryAfter).CausedBy(e.Cause())
		if e.Message != recourse.FromStatus(r.entry.Title, status).Message {
			refused.Message = e.Message
		}
		reading.Failure = refused
	}
	return reading
}

// aboutThings reports whether a kind is about things and values. The status of an MCP endpoint is about the
// endpoint.
func aboutThings(kind recourse.Kind) bool {
	switch kind {
	case recourse.KindNotFound, recourse.KindConflict, recourse.KindInvalidValue, recourse.KindQuotaExhausted:
		return true
	default:
		return false
	}
}

// Forwarded reads the refusal of the client's own credentials.
func (r *Reader) Forwarded(status int, header http.Header, body []byte) *recourse.Error {
	if e := r.full().HTTP(status, header, body).Error(); e != nil {
		return e
	}
	return recourse.FromStatus(r.entry.Title, status).WithOrigin(recourse.OriginServer)
}

// provider returns a reader for the answers of an HTTP API.
func (r *Reader) provider() *contract.Reader {
	reader := r.narrow()
	reader.Upstream, reader.Own = cmp.Or(r.Weak, r.own), r.own
	if !slices.Contains(reader.Contracts, r.own) {
		reader.Contracts = append(reader.Contracts, r.own)
	}
	return reader
}

// Provider reads the answer of an HTTP API's provider, which e only names, with everything that is known about
// its errors. own says that a 401 is about the gateway's own credentials.
func (r *Reader) Provider(refusal *api.RefusedError, e *recourse.Error, own bool) contract.Reading {
	reader := r.provider()
	reader.Cut = refusal.Cut
	reading := reader.HTTP(refusal.Status, refusal.Header, refusal.Body)
	read := reading.Error()
	if own && refusal.Status == http.StatusUnauthorized && (read == nil || reading.Contract == nil || aboutCredentials(read.Kind)) {
		return contract.Reading{Failure: r.ownCredentials(refusal, reading)}
	}
	if read == nil { // a question that nobody here can answer
		return contract.Reading{Failure: e}
	}
	var cause error = refusal
	if reading.Contract != nil && reading.Contract == r.own {
		cause = spokenError{refusal}
	}
	if reading.Original == nil {
		read = withViolations(read)
	}
	provider := cmp.Or(providerIn(&reading), r.entry.Title)
	reading.Failure = read.WithOrigin(recourse.OriginProvider).WithProvider(provider).With(func(record *recourse.Error) {
		record.Upstream.Status = refusal.Status
		record.Upstream.RequestID = cmp.Or(record.Upstream.RequestID, e.Upstream.RequestID)
		if record.Effect == "" && !Broke(refusal.Status) && retry.Effect(record, retry.Writes) == recourse.EffectNone {
			record.Effect, record.EffectBasis = recourse.EffectNone, recourse.BasisStated
		}
	}).CausedBy(cause)
	return reading
}

// providerIn returns the provider that an answer in a contract's own form names: a service may speak of another one.
func providerIn(reading *contract.Reading) string {
	if reading.Original == nil {
		return ""
	}
	return reading.Error().Provider
}

// aboutCredentials reports whether a kind is about the credentials of a request, not about an account elsewhere.
func aboutCredentials(kind recourse.Kind) bool {
	return kind == recourse.KindUnauthenticated || kind == recourse.KindPermissionDenied
}

// ownCredentials returns the failure for the refusal of the gateway's own credentials by an HTTP API's provider. What the
// provider says about it in the contract's form may tell the operator what to change.
func (r *Reader) ownCredentials(refusal *api.RefusedError, said contract.Reading) *recourse.Error {
	e := r.misconfigured(refusal.Status, refusal.Body).WithProvider(r.entry.Title)
	if said.Contract != nil && said.Error() != nil {
		e = e.With(func(record *recourse.Error) {
			record.Upstream.Code, record.Details = said.Error().Upstream.Code, said.Error().Details
		})
	}
	return e
}

// A spokenError is the answer of an HTTP API's provider in the form that the endpoint's own contract describes.
type spokenError struct{ refusal *api.RefusedError }

func (e spokenError) Error() string { return e.refusal.Error() }

func (e spokenError) Unwrap() error { return e.refusal }

// Quotes reports whether the advice in a failure stands in the place that the endpoint's contract has for the provider's own.
func Quotes(e *recourse.Error) bool {
	_, spoken := errors.AsType[spokenError](e.Cause())
	return spoken
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

// Broke reports whether a status says that the server failed after it got the request: its body does not count then.
func Broke(status int) bool {
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented || status == http.StatusRequestTimeout
}
