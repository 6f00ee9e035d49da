package mcptool

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/mcptool/internal/handler"
)

// Users knows which users a caller may act for, if the path names a user. It must be safe
// for concurrent use.
type Users interface {
	// Check returns nil if caller may act for user. An error of class resource, input,
	// auth or permission means that it may not, or that there is no such user; any other
	// means that it could not be checked.
	Check(ctx context.Context, caller, user string) error
}

// GuardOption changes what a [Guard] checks. The interface is sealed.
type GuardOption interface{ guard(g *guard) }

type guardOption func(g *guard)

func (o guardOption) guard(g *guard) { o(g) }

// WithAuthenticator requires credentials that a accepts, in the headers named by the
// contract, or else in Authorization; a is not asked about requests without them. Calls
// are charged to the identity's name, and the server behind the Guard is told it; a
// handler gets the whole identity from [CallerOf]. By default there is no access control.
func WithAuthenticator(a authn.Authenticator) GuardOption {
	return guardOption(func(g *guard) { g.authenticator = a })
}

// WithUsers makes u check the user named in the path, if the contract has a path with a
// user. By default every user is accepted. A user has up to 128 letters, digits and
// -_.~:@|+= in ASCII, and is neither "." nor ".."; u is not asked about any other, which
// does not exist for the client.
func WithUsers(u Users) GuardOption {
	return guardOption(func(g *guard) { g.users = u })
}

// WithCallerHeader tells the server behind who the caller is, in the header of that name.
// A value that a client sends is never passed on. By default it is not told.
func WithCallerHeader(name string) GuardOption {
	return guardOption(func(g *guard) { g.callerHeader = name })
}

// WithChallenge sets the WWW-Authenticate header of answers with status 401 (RFC 9110,
// section 11.6.1). The default is Bearer; "" leaves it out.
func WithChallenge(value string) GuardOption {
	return guardOption(func(g *guard) { g.challenge = value })
}

// WithLockout refuses an address after that many failed authentications within that time,
// until the first of them is that long ago. Requests without credentials do not count,
// since clients begin with one. The address is the connection's; for IPv6, its first 64
// bits. Behind a proxy or a gateway all clients share one address, so a single bad one
// would lock out all: see [WithTrustedProxies]. By default nobody is locked out.
func WithLockout(failures int, within time.Duration) GuardOption {
	return guardOption(func(g *guard) { g.lockout = door.NewLockout(failures, within) })
}

// WithTrustedProxies names the networks of proxies whose X-Forwarded-For is trusted. The
// client's address is the last one there that is not a trusted proxy. By default no proxy
// is trusted, since any client can send the header.
func WithTrustedProxies(networks ...netip.Prefix) GuardOption {
	return guardOption(func(g *guard) { g.proxies = networks })
}

// WithPublicURL sets the endpoint's public URL, such as https://mcp.example.com, for
// answers that contain the request's URL. The default is the scheme and Host of the
// request.
func WithPublicURL(base string) GuardOption {
	return guardOption(func(g *guard) { g.publicURL = base })
}

// WithMaxRequest sets the size of the largest message that is accepted, in bytes. The
// default is 4 MiB.
func WithMaxRequest(limit int64) GuardOption {
	return guardOption(func(g *guard) { g.maxRequest = limit })
}

// maxRequest is the default of WithMaxRequest.
const maxRequest = 4 << 20

// Guard returns a handler in front of next, an MCP endpoint. It passes on requests that
// have what c requires, and answers others in c's form: missing or invalid credentials
// (401, 403), a missing or unknown user or a wrong path (404), a body that is too large
// or not a message (413, 400), a limit that is reached (429 or a tool result), a panic or
// a check that failed (500). If c has no form for it, the answer is a JSON-RPC error with
// the request's id and the record of the default contract. Guard panics if c is nil.
//
// If next itself answers with a status of 400 or more and without JSON, as the handlers
// of SDKs do, the answer is replaced by such an error: -32601 for an unknown method,
// -32602 for missing params, -32022 for an unsupported version of the protocol, and
// -32600 for anything that is not a request, with status 405, 406 or 415 where the HTTP
// request is at fault. An answer without a body stays as it is.
//
// Each request gets an id, in the X-Request-Id of the answer and of the request that next
// sees. With a Limiter, answers to tool calls have X-RateLimit-Remaining.
//
// The checks are made in the order of the places in package contract. What fails later,
// such as the connection of a proxy, is written with [Fail].
func Guard(next http.Handler, c *contract.Contract, options ...GuardOption) http.Handler {
	g := &guard{
		next: next, contract: handler.Given(c), plain: contract.MustBuiltin(contract.Default), log: slog.Default(), now: time.Now,
		challenge: "Bearer", maxRequest: maxRequest,
	}
	g.path, g.forUsers = door.NewUserPath(c.Session.Path)
	for _, o := range options {
		o.guard(g)
	}
	return g
}

type guard struct {
	next          http.Handler
	contract      *contract.Contract
	plain         *contract.Contract // the default one
	log           *slog.Logger
	now           func() time.Time
	authenticator authn.Authenticator
	users         Users
	limiter       Limiter
	lockout       *door.Lockout
	proxies       door.Proxies
	callerHeader  string
	challenge     string
	publicURL     string
	maxRequest    int64
	path          door.UserPath
	forUsers      bool // the path has a place for one
}

// A visit is one HTTP request.
type visit struct {
	g         *guard
	w         *responseWriter
	r         *http.Request
	start     time.Time
	requestID string
	msg       wire.Message // of a POST, once it was read
	caller    authn.Identity
}

type visitKey struct{}

// CallerOf returns the caller of a request that has passed a [Guard] with an
// authenticator, given the request's context. ok is false if there is no such Guard.
func CallerOf(ctx context.Context) (who authn.Identity, ok bool) {
	x, ok := ctx.Value(visitKey{}).(*visit)
	if !ok || x.g.authenticator == nil {
		return who, false
	}
	return x.caller, true
}

// ServeHTTP checks the request.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &visit{g: g, w: &responseWriter{ResponseWriter: w}, start: time.Now()}
	x.requestID = wire.RequestID(r.Header.Get(wire.HeaderRequestID))
	x.r = r.Clone(context.WithValue(r.Context(), visitKey{}, x))
	x.r.Header.Set(wire.HeaderRequestID, x.requestID)
	for _, name := range []string{handler.HeaderCharge, g.callerHeader, g.contract.Session.UserHeader} {
		x.r.Header.Del(name)
	}
	w.Header().Set(wire.HeaderRequestID, x.requestID)
	defer x.recover()
	if refused := x.admit(); refused != nil {
		x.refuse(refused)
		return
	}
	charge, err := x.charge()
	if err != nil {
		x.refuse(&denial{at: contract.AtSession, err: err})
		return
	}
	if charge != nil {
		defer handler.Charged(x.r.Header, charge.Refund)()
		x.w.charge = charge
	}
	x.w.withholds = x.withholds
	x.carry()
	g.next.ServeHTTP(x.w, x.r)
	x.reword()
	x.w.end()
}

// recover answers for a handler that has panicked.
func (x *visit) recover() {
	p := recover()
	switch {
	case p == nil:
	case p == http.ErrAbortHandler, x.w.started: //nolint:errorlint // net/http compares it like this
		panic(p)
	default:
		x.refuse(&denial{at: contract.AtSession, err: handler.NewPanic(p)})
	}
}

// A denial is a failure, and where it occurred.
type denial struct {
	at     contract.At
	err    error
	status int  // 0: it follows from at and the kind
	plain  bool // written in the default contract: this one has no form for it

	versions []string // the supported versions of the protocol, if the client's is not one of them
}

// admit checks the request, in the order of the places.
func (x *visit) admit() *denial {
	if refused := x.authenticate(); refused != nil {
		return refused
	}
	user, refused := x.user()
	if refused != nil {
		return refused
	}
	if refused := x.enter(user); refused != nil {
		return refused
	}
	if err := x.read(x.g.maxRequest); err != nil {
		return &denial{at: contract.AtSession, err: err}
	}
	if e := checkParams(&x.msg); e != nil {
		status := http.StatusOK
		if x.isModern() && len(x.msg.Params) == 0 { // what a request of that era must hold is missing, too
			status = http.StatusBadRequest
		}
		return &denial{at: contract.AtArguments, err: e, status: status}
	}
	return nil
}

func (x *visit) authenticate() *denial {
	g := x.g
	if g.authenticator == nil {
		return nil
	}
	address := g.proxies.Client(x.r)
	if wait := g.lockout.Wait(address, g.now()); wait > 0 {
		e := recourse.RateLimited(wait).WithOrigin(recourse.OriginGateway).
			WithMessage("Too many authentications from this address have failed. Try again in %s.", recourse.FormatWait(wait))
		return &denial{at: contract.AtSession, err: e, status: http.StatusTooManyRequests, plain: true}
	}
	if door.Missing(x.r.Header, g.credentials()) != "" {
		return &denial{at: contract.AtCredentialsMissing, err: recourse.Unauthenticated()}
	}
	who, err := g.authenticator.Authenticate(x.r)
	switch {
	case errors.Is(err, recourse.KindMissingScope):
		return &denial{at: contract.AtSession, err: err, status: http.StatusForbidden}
	case errors.Is(err, recourse.ClassAuth):
		g.lockout.Failed(address, g.now())
		return &denial{at: contract.AtCredentialsInvalid, err: err}
	case err != nil:
		return &denial{at: contract.AtSession, err: err}
	}
	x.caller = who
	if g.callerHeader != "" {
		x.r.Header.Set(g.callerHeader, who.Name)
	}
	return nil
}

// credentials returns the headers that hold a client's credentials.
func (g *guard) credentials() []string {
	if names := g.contract.Session.Credentials; len(names) > 0 {
		return names
	}
	return []string{"Authorization"}
}

// enter checks the user named in the path.
func (x *visit) enter(user string) *denial {
	g := x.g
	if !g.forUsers {
		return nil
	}
	if user == "" {
		return &denial{at: contract.AtUserMissing, err: recourse.Missing(g.path.Param)}
	}
	if !door.IsUser(user) {
		return &denial{at: contract.AtUserInvalid, err: recourse.NotFound("user", "")}
	}
	if g.users != nil {
		if err := g.users.Check(x.r.Context(), x.caller.Name, user); err != nil {
			return &denial{at: userPlace(err), err: err}
		}
	}
	if name := g.contract.Session.UserHeader; name != "" {
		x.r.Header.Set(name, user)
	}
	return nil
}

// userPlace returns where a failed check of a user occurred.
func userPlace(err error) contract.At {
	for _, class := range []recourse.Class{recourse.ClassResource, recourse.ClassInput, recourse.ClassAuth, recourse.ClassPermission} {
		if errors.Is(err, class) {
			return contract.AtUserInvalid
		}
	}
	return contract.AtSession
}

// charge charges a call of a tool.
func (x *visit) charge() (Charge, error) {
	if x.g.limiter == nil || !x.isCall() {
		return nil, nil
	}
	charge, err := x.g.limiter.Take(x.r.Context(), x.caller.Name)
	if e, ok := errors.AsType[*recourse.Error](err); ok && e.Origin == "" {
		err = e.WithOrigin(recourse.OriginGateway)
	}
	return charge, err
}
