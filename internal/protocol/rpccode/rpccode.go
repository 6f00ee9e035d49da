// Package rpccode maps the codes of JSON-RPC errors to kinds of failures and back: the codes of JSON-RPC 2.0, section
// 5.1, and of MCP.
package rpccode

import "github.com/recoursehq/recourse"

// The codes of JSON-RPC 2.0, then those of MCP 2026-07-28.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	internalError  = -32603

	headerMismatch     = -32020
	missingCapability  = -32021
	unsupportedVersion = -32022
)

// Kinds are the kinds of the codes that are read.
var Kinds = map[int]recourse.Kind{
	parseError: recourse.KindMalformed, invalidRequest: recourse.KindInvalidRequest, methodNotFound: recourse.KindUnknownMethod,
	invalidParams: recourse.KindInvalidValue, internalError: recourse.KindInternal,
	-32002:         recourse.KindNotFound, // of a resource, before 2026-07-28
	headerMismatch: recourse.KindHeaderMismatch, missingCapability: recourse.KindMissingCapability,
	unsupportedVersion: recourse.KindUnsupportedVersion,
}

// Of returns the code that a failure of that kind is written with.
func Of(kind recourse.Kind) int {
	switch kind {
	case recourse.KindMalformed:
		return parseError
	case recourse.KindInvalidRequest, recourse.KindTooLarge: // a body over the limit is not a request
		return invalidRequest
	case recourse.KindUnknownMethod:
		return methodNotFound
	case recourse.KindHeaderMismatch:
		return headerMismatch
	case recourse.KindMissingCapability:
		return missingCapability
	case recourse.KindUnsupportedVersion:
		return unsupportedVersion
	case recourse.KindNotFound:
		return invalidParams
	default:
		if kind.Class() == recourse.ClassInput {
			return invalidParams
		}
		return internalError
	}
}

// ForProgram reports whether a failed tools/call of that kind is for the client's program, which negotiates with the server, or
// opens another session: a model could do nothing about it.
func ForProgram(kind recourse.Kind) bool {
	switch kind {
	case recourse.KindHeaderMismatch, recourse.KindMissingCapability, recourse.KindUnsupportedVersion, recourse.KindUnknownSession:
		return true
	default:
		return false
	}
}

// Reserved reports whether JSON-RPC reserves a code.
func Reserved(code int) bool { return code >= -32768 && code <= -32000 }

// Refused reports whether a code says that the request was refused before it was carried out. With an HTTP status of
// 500 or more it does not tell.
func Refused(code int) bool {
	switch code {
	case parseError, invalidRequest, methodNotFound, invalidParams, headerMismatch, missingCapability, unsupportedVersion:
		return true
	default:
		return false
	}
}
