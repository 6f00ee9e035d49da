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

// From turns any error into an Error; nil stays nil. An Error anywhere in the
// chain is returned as it is. Deadlines, cancellations and failures of the
// network are known by their meaning; of anything else nothing is revealed: it is
// [KindInternal] with that kind's sentence. err becomes the private cause.
//
// A connection that was never made leaves [EffectNone]. A broken one leaves the
// effect unstated: whether a call that was sent was carried out depends on what
// it does.
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

// neverConnected reports whether err says that no connection was made, so that
// nothing can have been sent.
func neverConnected(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	return errors.Is(err, http.ErrSchemeMismatch) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

func brokenConnection(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*url.Error](err); ok && errors.Is(err, io.EOF) { // elsewhere it is the end of any text
		return true
	}
	for _, broken := range []error{
		io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}
