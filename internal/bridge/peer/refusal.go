package peer

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/rpccode"
	"github.com/recoursehq/recourse/internal/wire"
)

// MaxRefusal bounds how much of a refusal is looked into: as much as of any answer.
const MaxRefusal = 256 << 10

// Keep returns the beginning of an answer, which stays in its body.
func Keep(resp *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, MaxRefusal))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), &failing{err}, rest), rest}
	return text, err
}

// failing is a reader that returns an error, or the end where there is none.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// Refuses reports whether an answer may be the refusal of a message in the wrong era.
func Refuses(resp *http.Response) bool {
	return RefusesEra(resp.StatusCode) || resp.StatusCode == http.StatusMethodNotAllowed
}

// RefusesEra reports whether a status is that of a request in the wrong era.
func RefusesEra(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusNotFound
}

// IsAway reports whether an HTTP status says nothing of what the server speaks, since
// it is not in order, or too busy.
func IsAway(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// IsDenied reports whether a status refuses the credentials.
func IsDenied(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// MaySendAgain reports whether a request that a server has refused with an HTTP status
// below 500, in text, may be sent to it in another form: it does nothing, or a code of
// the protocol says that it was not carried out. Words that only sound like the other era
// are a reason to find out the era, but none to send a call twice.
func MaySendAgain(method string, text []byte) bool {
	if wire.ReadsOnly(method) {
		return true
	}
	code, err := strconv.Atoi(CodeOf(text))
	return err == nil && rpccode.Refused(code)
}

// CodeOf returns the code of a JSON-RPC error response, as it is spelled; "" without one.
func CodeOf(text []byte) string { return string(json.Lookup(text, "/error/code")) }

// SoundsLegacy reports whether a refusal is what a server of the legacy era may say to a
// request of the modern one: that it knows neither the version nor the session.
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

// WithoutEra takes away the headers that belong to one of the eras.
func WithoutEra(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, wire.HeaderParamPrefix) {
			delete(h, name)
		}
	}
	for _, name := range []string{wire.HeaderVersion, wire.HeaderMethod, wire.HeaderName, wire.HeaderSession, wire.HeaderLastEventID} {
		delete(h, name)
	}
}

// Cacheable reports whether results of the method say for how long they may be kept (MCP
// 2026-07-28, "Caching").
func Cacheable(method string) bool {
	switch method {
	case wire.MethodToolsList, wire.MethodResourcesRead, "prompts/list", "resources/list", "resources/templates/list":
		return true
	default:
		return false
	}
}
