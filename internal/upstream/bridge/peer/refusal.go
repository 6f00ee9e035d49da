package peer

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// MaxRefusal limits how much of a refusal is read, in bytes.
const MaxRefusal = 256 << 10

// Keep returns the beginning of an answer, which can still be read from its body.
func Keep(resp *wire.Answer) ([]byte, error) { return resp.Peek(MaxRefusal) }

// Refuses reports whether an answer may be the refusal of a message in the wrong era.
func Refuses(resp *wire.Answer) bool {
	return RefusesEra(resp.Status) || resp.Status == http.StatusMethodNotAllowed
}

// RefusesEra reports whether a status may be the refusal of a request in the wrong era.
func RefusesEra(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusNotFound
}

// IsAway reports whether a status means that the server is in trouble or too busy, so that nothing about its
// era is known.
func IsAway(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// IsDenied reports whether a status means that the credentials were refused.
func IsDenied(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// MaySendAgain reports whether a request that was refused with a status below 500 and text may be sent in the
// form of the other era: the method only reads, or a protocol code says that the request was not carried out.
// Words that only sound like the other era are not enough.
func MaySendAgain(method string, text []byte) bool {
	if wire.ReadsOnly(method) {
		return true
	}
	code, err := strconv.Atoi(CodeOf(text))
	return err == nil && rpccode.Refused(code)
}

// CodeOf returns the code of a JSON-RPC error response as written, or "".
func CodeOf(text []byte) string { return string(json.Lookup(text, "/error/code")) }

// SoundsLegacy reports whether a legacy server may have refused a modern request like this.
func SoundsLegacy(status int, header http.Header, body []byte) bool {
	switch code := CodeOf(body); {
	case code == "-32022":
		return !bytes.Contains(json.Lookup(body, "/error/data/supported"), []byte(wire.Version20260728))
	case code == "-32601":
		return header.Get(wire.HeaderMethod) == wire.MethodDiscover
	case status == http.StatusMethodNotAllowed:
		return false
	default: // what the SDKs of the legacy era answer, or no JSON-RPC error at all
		return code == "" || code == "-32000" || code == "-32001" || code == "-32600"
	}
}

// Cacheable reports whether results of the method say how long they may be cached (MCP 2026-07-28,
// "Caching").
func Cacheable(method string) bool {
	switch method {
	case wire.MethodToolsList, wire.MethodResourcesRead, "prompts/list", "resources/list", "resources/templates/list":
		return true
	default:
		return false
	}
}
