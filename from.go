package recourse

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
)

// From turns any error into an Error; nil stays nil. An Error anywhere in the chain is
// returned unchanged. Deadlines, cancellations and failures of the network are recognised
// by their meaning. Anything else becomes [KindInternal] with that kind's sentence: its
// text is not revealed. err becomes the private cause.
//
// A connection that was never made leaves [EffectNone]. A broken one leaves the effect
// unstated: whether a call that was sent was carried out depends on what it does.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if n, ok := errors.AsType[*NeedsInput](err); ok {
		return Missing(n.Fields...).WithMessage("%s", n.Message).CausedBy(err)
	}
	return classify(err).CausedBy(err)
}

func classify(err error) *Error {
	if kind, ok := errors.AsType[Kind](err); ok {
		return New(kind, "")
	}
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled) && neverConnected(err):
		return Cancelled().WithEffect(EffectNone)
	case errors.Is(err, context.Canceled):
		return Cancelled()
	case neverConnected(err):
		return Unreachable("").WithEffect(EffectNone)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return Timeout("", 0)
	case brokenConnection(err):
		return Unreachable("")
	default:
		return Internal()
	}
}

// neverConnected reports whether err says that no connection was made, so that nothing
// can have been sent. An error of an established connection, such as no route to host,
// does not say so, whatever its number. If several errors are joined, as after several
// tries, every one must say so.
func neverConnected(err error) bool {
	never, broke := connecting(err)
	return never && !broke
}

// connecting looks through the tree of err for failures to make a connection, and
// for those of connections that were made.
func connecting(err error) (never, broke bool) {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case nil:
		return false, false
	case *net.OpError:
		never = e.Op == "dial" || e.Op == "proxyconnect" || e.Op == "socks connect"
		return never, !never
	case *net.DNSError, *tls.CertificateVerificationError, x509.UnknownAuthorityError:
		return true, false
	case tls.RecordHeaderError:
		return e.Conn != nil, e.Conn == nil // it is there in the first record alone, before the handshake
	case interface{ Unwrap() error }:
		return connecting(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			n, b := connecting(inner)
			never, broke = never || n, broke || b
		}
	}
	return never, broke
}

func brokenConnection(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*url.Error](err); ok && errors.Is(err, io.EOF) { // elsewhere it is the end of any text
		return true
	}
	for _, broken := range []error{
		io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, http.ErrSchemeMismatch, syscall.ECONNRESET, syscall.EPIPE,
		syscall.ECONNABORTED, syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}
