package faults

import (
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A Body is the body of an HTTP status.
type Body int

const (
	// Plain is the status text, as http.Error writes it.
	Plain Body = iota
	// HTML is a proxy's error page that names an upstream address.
	HTML
	// Problem is a JSON object that is not a JSON-RPC message.
	Problem
	// RPC is a JSON-RPC error with the request's id.
	RPC
	// None is an empty body.
	None
)

// String returns what the body adds to a fault's name.
func (b Body) String() string {
	switch b {
	case HTML:
		return ", HTML"
	case Problem:
		return ", JSON"
	case RPC:
		return ", JSON-RPC"
	case None:
		return ", empty"
	case Plain:
	}
	return ""
}

// Status answers with an HTTP status and a body. The tool runs first if the status leaves that open: 408,
// 500, 502 and 504.
func Status(code int, body Body) testkit.Fault {
	text := http.StatusText(code)
	fault := testkit.Fault{Name: strconv.Itoa(code) + body.String(), Happen: func(e *testkit.Exchange) {
		switch body {
		case Plain:
			e.Reply(code, "text/plain; charset=utf-8", text+"\n")
		case HTML:
			e.Reply(code, "text/html; charset=utf-8", htmlPage(strconv.Itoa(code)+" "+text))
		case Problem:
			e.Reply(code, protocol.TypeJSON, protocol.Object("error", text, "upstream", secretAddr))
		case RPC:
			const serverError = -32000
			e.Refuse(code, serverError, text, "")
		case None:
			e.Reply(code, "", "")
		}
	}}
	switch code {
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return fault.Running(true)
	default:
		return fault
	}
}

// StatusWith answers with an HTTP status and a body from the test.
func StatusWith(name string, code int, contentType, body string) testkit.Fault {
	return testkit.Fault{Name: name, Happen: func(e *testkit.Exchange) { e.Reply(code, contentType, body) }}
}

// RPCStatus answers with an HTTP status and a JSON-RPC error, with which servers of the modern era refuse
// violations of the protocol; data is JSON, or empty.
func RPCStatus(name string, status, code int, text, data string) testkit.Fault {
	return testkit.Fault{Name: name, Happen: func(e *testkit.Exchange) { e.Refuse(status, code, text, data) }}
}

// Unauthorized answers 401 with a WWW-Authenticate challenge.
func Unauthorized() testkit.Fault {
	return Status(http.StatusUnauthorized, Plain).With("WWW-Authenticate", Challenge)
}

// Challenge is the WWW-Authenticate header of [Unauthorized].
const Challenge = `Bearer error="invalid_token", resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource"`

// InsufficientScope answers 403 with the challenge of a token that lacks a scope.
func InsufficientScope() testkit.Fault {
	return Status(http.StatusForbidden, Plain).With("WWW-Authenticate", ScopeChallenge).Named("403, insufficient scope")
}

// ScopeChallenge is the WWW-Authenticate header of [InsufficientScope].
const ScopeChallenge = `Bearer error="insufficient_scope", scope="orders:write"`

// Redirect answers 307 to a location; empty means the path /moved of the same server, where it would answer.
func Redirect(location string) testkit.Fault {
	const code = http.StatusTemporaryRedirect
	return testkit.Fault{Name: strconv.Itoa(code), Happen: func(e *testkit.Exchange) {
		to := location
		if to == "" {
			to = "http://" + e.Server().Addr() + "/moved"
		}
		e.Writer().Header().Set("Location", to)
		e.Reply(code, "", "")
	}}
}
