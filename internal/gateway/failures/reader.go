// Package failures reads a server's answers for failures: in the form of a contract or in a form of their own, in
// a result, in a JSON-RPC error or in an HTTP answer.
//
//	an answer
//	  |  Reader.Answer     with status 200, as the scanner of package wire has seen it
//	  |  Reader.HTTP       with any other status
//	  |  Reader.Provider   of an HTTP API's provider
//	  v
//	contract.Reader        knows all contracts, the texts of SDKs, and families
//	  v
//	contract.Reading: what failed and by which sign, or nothing, and the answer is a success
package failures

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/observe"
)

// A Reader reads the failures of one server.
type Reader struct {
	// Weak is the contract whose weak signs count, or nil.
	Weak *contract.Contract
	// PassesCredentials says that the credentials required by the contract are forwarded to the server:
	// whether they are valid is for the server to say.
	PassesCredentials bool

	entry    *config.Server
	own      *contract.Contract      // of the endpoint
	families []*contract.Family      // whose weak forms count
	full     func() *contract.Reader // knows all contracts
}

// New returns the reader for an entry, whose endpoint has the contract own and forwards some of the client's
// headers.
func New(entry *config.Server, own *contract.Contract, set *contract.Set, forwards func(header string) bool) (*Reader, error) {
	r := &Reader{entry: entry, own: own}
	for _, name := range entry.Reads {
		if f, ok := set.Family(name); ok {
			r.families = append(r.families, f)
			continue
		}
		var ok bool
		if r.Weak, ok = set.Get(name); !ok {
			return nil, fmt.Errorf("there is no contract or family %s", name)
		}
	}
	asked := own.Session.Credentials
	r.PassesCredentials = len(asked) > 0 && !slices.ContainsFunc(asked, func(name string) bool {
		return !forwards(http.CanonicalHeaderKey(name))
	})
	// It is created when it is first needed: reading the contracts would make up most of a program's start.
	r.full = sync.OnceValue(func() *contract.Reader {
		full := r.narrow()
		full.Own = own
		for _, c := range append([]*contract.Contract{own}, set.All()...) {
			if !slices.Contains(full.Contracts, c) {
				full.Contracts = append(full.Contracts, c)
			}
		}
		return full
	})
	return r, nil
}

// narrow returns a reader that knows the entry's own contract at most.
func (r *Reader) narrow() *contract.Reader {
	narrow := &contract.Reader{Weak: r.Weak, Families: r.families, Trusted: r.entry.Trusted, Provider: r.entry.Title}
	if r.Weak != nil {
		narrow.Contracts = []*contract.Contract{r.Weak}
	}
	return narrow
}

// cut returns a reader for input that was cut off at that size, see [contract.Reader].
func (r *Reader) cut(size string) *contract.Reader {
	reader := *r.full()
	reader.Cut = size
	return &reader
}

// Same reports whether both read a server's answers in the same way.
func (r *Reader) Same(other *Reader) bool {
	a, b := r.full(), other.full()
	return slices.EqualFunc(a.Contracts, b.Contracts, (*contract.Contract).Same) &&
		slices.EqualFunc(a.Families, b.Families, (*contract.Family).Same)
}

// BadResponse returns the failure for an invalid response.
func (r *Reader) BadResponse(cause error) *recourse.Error {
	return recourse.BadResponse(r.entry.Title).WithOrigin(recourse.OriginServer).CausedBy(cause)
}

// ErrOwnCredentials is in the cause of a failure that says that the server refused the gateway's own
// credentials.
var ErrOwnCredentials = errors.New("the server refused the credentials in the entry's headers")

// misconfigured returns the failure for a call that the server refused because of the gateway's own
// credentials. It is not of class auth, since no client can fix this by authorizing; contracts choose by its status.
func (r *Reader) misconfigured(status int, body []byte) *recourse.Error {
	e := recourse.New(recourse.KindPermissionDenied, fmt.Sprintf("%s refused the gateway's own credentials. "+
		"The operator of the gateway has to renew them.", r.entry.Title))
	return e.WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).WithRetry(recourse.RetryAfterSetup).
		WithUpstream(recourse.Upstream{Status: status}).
		CausedBy(fmt.Errorf("%w: HTTP status %d: %s", ErrOwnCredentials, status, observe.Beginning(string(body))))
}
