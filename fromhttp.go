package recourse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxWait is the longest wait that is accepted; a longer one is reduced to it.
	// The longest window in use is a calendar month.
	MaxWait = 31 * 24 * time.Hour
	// maxErrorBody is how much of an answer FromHTTP reads for an error code.
	maxErrorBody = 64 << 10
)

// FromHTTP turns an HTTP answer with a status of 400 or more into an Error of origin
// provider; for any other it returns nil. The kind follows from the status, the
// OAuth error codes (RFC 6749 section 5.2, RFC 6750 section 3.1) and
// WWW-Authenticate. The wait comes from Retry-After or, for a rate limit, from
// RateLimit-Reset and X-RateLimit-Reset; a 403 with nothing remaining is a rate
// limit. Up to 64 KiB of the body are read, only for its error code (a string member
// "error", "code", "error_code" or "errorCode", or "code" inside "error") and the
// scopes that a 403 names; its text goes to the private cause. The caller must close the body.
func FromHTTP(provider string, resp *http.Response) *Error {
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	var body []byte
	if resp.Body != nil {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a broken body has no error code
	}
	code := errorCode(resp.Header, body)
	e := fromStatus(provider, resp.StatusCode, code)
	if resp.StatusCode == http.StatusForbidden && exhausted(resp.Header) { // as GitHub says it
		e = fromStatus(provider, http.StatusTooManyRequests, "")
	}
	e.Origin = OriginProvider
	e.Upstream = Upstream{Status: resp.StatusCode, Code: code, RequestID: resp.Header.Get("X-Request-Id")}
	if wait, ok := RetryAfter(resp.Header, time.Now()); ok {
		e.RetryAfter = wait
	} else if e.Kind == KindRateLimited {
		e.RetryAfter, _ = resetAfter(resp.Header, time.Now())
	}
	e.addScopes(provider, resp, body)
	said := fmt.Sprintf("HTTP %d", resp.StatusCode)
	if after := resp.Header.Get("Retry-After"); after != "" { // which may have been too absurd to be believed
		said += fmt.Sprintf(", Retry-After %q", excerpt([]byte(after)))
	}
	return e.CausedBy(fmt.Errorf("%s: %w", said, errors.New(excerpt(body))))
}

// FromStatus returns the Error of origin provider that an HTTP status of 400 or
// more stands for. A status that means that the request was not carried out
// (400, 401, 403, 405, 406, 413, 415, 421, 429) states [EffectNone].
func FromStatus(provider string, status int) *Error {
	e := fromStatus(provider, status, "").WithOrigin(OriginProvider)
	e.Upstream.Status = status
	return e
}

func fromStatus(provider string, status int, code string) *Error {
	e := statusKind(provider, status, code)
	e.Provider = provider
	if refused(status) {
		e.Effect = EffectNone
	}
	return e
}

// refused reports whether an HTTP status says that the request was turned away
// before it was carried out.
func refused(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusMisdirectedRequest, http.StatusTooManyRequests:
		return true
	default:
		return false
	}
}

func statusKind(provider string, status int, code string) *Error {
	switch code {
	case "invalid_grant":
		return TokenRevoked(provider)
	case "insufficient_scope":
		return MissingScope(provider).WithMessage("The access to %s lacks a required scope.", name(provider))
	}
	switch status {
	case http.StatusUnauthorized:
		if code == "invalid_token" {
			return TokenExpired(provider)
		}
		return New(KindUnauthenticated, fmt.Sprintf("%s requires valid credentials.", name(provider)))
	case http.StatusPaymentRequired:
		return New(KindQuotaExhausted, fmt.Sprintf("%s says that what was paid for is used up.", name(provider)))
	case http.StatusForbidden:
		return New(KindPermissionDenied, fmt.Sprintf("%s does not permit this.", name(provider)))
	case http.StatusNotFound, http.StatusGone:
		return New(KindNotFound, fmt.Sprintf("%s does not have what was asked for.", name(provider)))
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return Timeout(provider, 0)
	case http.StatusConflict, http.StatusPreconditionFailed:
		return New(KindConflict, fmt.Sprintf("%s reports a conflict with the present state.", name(provider)))
	case http.StatusRequestEntityTooLarge:
		return New(KindTooLarge, fmt.Sprintf("%s does not take a request that is this large.", name(provider)))
	case http.StatusUnprocessableEntity:
		return New(KindInvalidValue, fmt.Sprintf("%s does not accept the values.", name(provider)))
	case http.StatusTooManyRequests:
		return New(KindRateLimited, fmt.Sprintf("%s limits requests at the moment.", name(provider)))
	case http.StatusNotImplemented:
		return New(KindNotImplemented, fmt.Sprintf("%s does not implement this.", name(provider)))
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return Unavailable(provider)
	}
	if status >= http.StatusInternalServerError {
		return ServerError(provider, status)
	}
	return ClientError(provider, status)
}

// RetryAfter reads the Retry-After header (RFC 9110 section 10.2.3), as seconds or
// as a date, and reports whether it says anything. A date is relative to the
// answer's own Date if there is one, so that clocks need not agree, and otherwise to
// now. A time in the past or a negative wait is ignored; a wait of more than
// [MaxWait] is reduced to it.
func RetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if math.IsNaN(seconds) || seconds <= 0 {
			return 0, false
		}
		return time.Duration(min(seconds, MaxWait.Seconds()) * float64(time.Second)), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if wait := at.Sub(present(header, now)); wait > 0 {
		return min(wait, MaxWait), true
	}
	return 0, false
}

// present returns the answer's own Date, or now if it has none.
func present(header http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		return date
	}
	return now
}

// errorCode finds the error code of an answer: in WWW-Authenticate, or else in a
// JSON body.
func errorCode(header http.Header, body []byte) string {
	if code := challengeParam(header, "error"); code != "" {
		return code
	}
	if !isJSON(header) {
		return ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return ""
	}
	var nested map[string]json.RawMessage
	if json.Unmarshal(members["error"], &nested) == nil {
		members["error"] = nested["code"]
	}
	for _, key := range []string{"error_code", "errorCode", "code", "error"} {
		var code string
		if json.Unmarshal(members[key], &code) == nil && code != "" && len(code) <= 128 && !strings.ContainsAny(code, " \t\r\n") {
			return code
		}
	}
	return ""
}

func isJSON(header http.Header) bool {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return strings.HasSuffix(media, "json")
}

// challengeParam returns a parameter of the WWW-Authenticate challenges.
func challengeParam(header http.Header, param string) string {
	for _, challenge := range header.Values("WWW-Authenticate") {
		for rest := challenge; ; {
			i := indexFold(rest, param+"=")
			if i < 0 {
				break
			}
			value := rest[i+len(param)+1:]
			if i > 0 && !strings.ContainsRune(" ,", rune(rest[i-1])) {
				rest = value
				continue
			}
			if after, quoted := strings.CutPrefix(value, `"`); quoted {
				value, _, _ = strings.Cut(after, `"`)
				return value
			}
			if end := strings.IndexAny(value, ", "); end >= 0 {
				value = value[:end]
			}
			return value
		}
	}
	return ""
}

// indexFold is strings.Index for an ASCII needle in any case. Folding the whole text
// could change its length.
func indexFold(s, needle string) int {
	for i := range len(s) - len(needle) + 1 {
		if strings.EqualFold(s[i:i+len(needle)], needle) {
			return i
		}
	}
	return -1
}

func challengeScopes(header http.Header) []string {
	return strings.Fields(challengeParam(header, "scope"))
}

// addScopes names the scopes that a 403 says are missing: in its challenge, or else in
// its body. A body that names them says what is missing even without a code.
func (e *Error) addScopes(provider string, resp *http.Response, body []byte) {
	if resp.StatusCode != http.StatusForbidden || e.Kind != KindMissingScope && e.Kind != KindPermissionDenied {
		return
	}
	if e.Kind == KindMissingScope {
		e.MissingScopes = challengeScopes(resp.Header)
	}
	if len(e.MissingScopes) > 0 || !isJSON(resp.Header) {
		return
	}
	names := []string{"missing_scopes", "missingScopes", "required_scopes", "requiredScopes", "missing_scope", "required_scope"}
	if e.Kind == KindMissingScope {
		names = append(names, "scope", "scopes")
	}
	if e.MissingScopes = bodyScopes(body, names, 1); len(e.MissingScopes) > 0 && e.Kind == KindPermissionDenied {
		missing := statusKind(provider, resp.StatusCode, "insufficient_scope")
		e.Kind, e.Message = missing.Kind, missing.Message
	}
}

// bodyScopes returns the scopes under the first of names that an object has: a list, or
// a text with blanks or commas between them; else those in its error or details.
func bodyScopes(body []byte, names []string, depth int) []string {
	const most = 32
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	for _, name := range names {
		var list []string
		var text string
		if json.Unmarshal(members[name], &text) == nil {
			list = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
		} else if json.Unmarshal(members[name], &list) != nil {
			continue
		}
		if len(list) > 0 && len(list) <= most {
			return list
		}
	}
	for _, name := range []string{"error", "detail", "details", "data"} {
		if depth == 0 {
			break
		}
		if list := bodyScopes(members[name], names, depth-1); len(list) > 0 {
			return list
		}
	}
	return nil
}

func excerpt(body []byte) string {
	const most = 512
	return string(body[:min(most, len(body))])
}
