package wire

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Protocol versions over HTTP, oldest first.
const (
	Version20241105 = "2024-11-05" // the oldest; Streamable HTTP came with the next
	Version20250326 = "2025-03-26"
	Version20250618 = "2025-06-18"
	Version20251125 = "2025-11-25"
	Version20260728 = "2026-07-28"
)

// Versions returns the protocol versions known over HTTP, newest first.
func Versions() []string {
	return []string{Version20260728, Version20251125, Version20250618, Version20250326}
}

// Era is one of the two ways to speak MCP.
type Era uint8

// The eras.
const (
	// Legacy is 2025-11-25 and before: initialize, then a session.
	Legacy Era = iota + 1
	// Modern is 2026-07-28: every request is self-contained and states its version.
	Modern
)

// String returns legacy or modern.
func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	default:
		return "unknown"
	}
}

// EraOf returns the era of a protocol version. ok is false if the version is not known over HTTP.
func EraOf(version string) (era Era, ok bool) {
	switch version {
	case Version20250326, Version20250618, Version20251125:
		return Legacy, true
	case Version20260728:
		return Modern, true
	default:
		return 0, false
	}
}

// Headers of the Streamable HTTP transport, in net/http's canonical form.
const (
	HeaderVersion     = "Mcp-Protocol-Version"
	HeaderMethod      = "Mcp-Method"
	HeaderName        = "Mcp-Name"
	HeaderParamPrefix = "Mcp-Param-"
	HeaderSession     = "Mcp-Session-Id"
	HeaderLastEventID = "Last-Event-Id"
)

// CheckHeaders returns the era of a client's message, after checking that its headers are present and
// agree with its body (MCP 2026-07-28, Streamable HTTP, "Request Metadata" and "Server Validation";
// basic/index, "_meta"). A message that states no version in either place belongs to the legacy era.
//
// The error is an [*Error]: [CodeUnsupportedVersion] for an unknown version, [CodeInvalidParams] for a
// request of the modern era without the required members of _meta, [CodeHeaderMismatch] for everything
// else. Each goes with HTTP status 400. The specification requires no headers on notifications: those
// that are present are compared.
func CheckHeaders(h http.Header, m *Message) (Era, error) {
	version, err := single(h, HeaderVersion)
	if err != nil {
		return 0, err
	}
	switch {
	case version == "" && m.ProtocolVersion == "":
		return Legacy, nil
	case version == "":
		return 0, mismatch("the MCP-Protocol-Version header is missing, and _meta states version %q", clip(m.ProtocolVersion))
	}
	if _, ok := EraOf(version); ok && m.ProtocolVersion != "" && m.ProtocolVersion != version {
		return 0, mismatch("the MCP-Protocol-Version header says %q, and _meta says %q", version, clip(m.ProtocolVersion))
	}
	era, err := eraIn(version, m)
	if era != Modern || err != nil {
		return era, err
	}
	return Modern, checkNames(h, m)
}

// EraOfMessage returns the era of a message that comes without headers, as over stdio. The error is that of [CheckHeaders].
func EraOfMessage(m *Message) (Era, error) {
	if m.ProtocolVersion == "" {
		return Legacy, nil
	}
	return eraIn(m.ProtocolVersion, m)
}

// eraIn returns the era of a message of a version, after checking that it has what it needs in it.
func eraIn(version string, m *Message) (Era, error) {
	era, ok := EraOf(version)
	if !ok {
		return 0, &Error{
			Code:    CodeUnsupportedVersion,
			Message: fmt.Sprintf("protocol version %q is not supported", clip(version)),
		}
	}
	if era == Legacy {
		return Legacy, nil
	}
	return Modern, checkMeta(m)
}

// checkMeta checks that a request of the modern era has the required members.
func checkMeta(m *Message) error {
	const meta = "/params/_meta/io.modelcontextprotocol~1"
	switch {
	case m.Kind != Request:
		return nil
	case m.ProtocolVersion == "":
		return &Error{
			Code:    CodeInvalidParams,
			Message: "_meta needs the string " + MetaProtocolVersion,
			Pointer: meta + "protocolVersion",
		}
	case len(m.ClientCapabilities) == 0 || m.ClientCapabilities[0] != '{':
		return &Error{
			Code:    CodeInvalidParams,
			Message: "_meta needs the object " + MetaClientCapabilities,
			Pointer: meta + "clientCapabilities",
		}
	default:
		return nil
	}
}

// checkNames compares Mcp-Method and Mcp-Name with the body.
func checkNames(h http.Header, m *Message) error {
	if m.Kind == Response {
		return nil
	}
	method, err := single(h, HeaderMethod)
	if err != nil {
		return err
	}
	switch {
	case method == "" && m.Kind == Request:
		return mismatch("the Mcp-Method header is missing")
	case method != "" && method != m.Method:
		return mismatch("the Mcp-Method header says %q, and the body says %q", clip(method), clip(m.Method))
	}
	if !Named(m.Method) {
		return nil
	}
	encoded, err := single(h, HeaderName)
	if err != nil {
		return err
	}
	name, ok := DecodeHeader(encoded)
	switch {
	case encoded == "":
		return mismatch("the Mcp-Name header is missing, which %s needs", m.Method)
	case !ok:
		return mismatch("the Mcp-Name header is not encoded as it must be")
	case name != m.Name:
		return mismatch("the Mcp-Name header says %q, and the body says %q", clip(name), clip(m.Name))
	default:
		return nil
	}
}

// ReadsOnly reports whether requests of the method never change anything. It is false for tools/call,
// and for methods that are not part of the protocol.
func ReadsOnly(method string) bool {
	switch method {
	case MethodToolsList, MethodDiscover, MethodPromptsGet, MethodResourcesRead, MethodInitialize,
		"prompts/list", "resources/list", "resources/templates/list", "completion/complete", "ping":
		return true
	default:
		return false
	}
}

// Named reports whether requests of the method carry an Mcp-Name header in the modern era.
func Named(method string) bool {
	return method == MethodToolsCall || method == MethodPromptsGet || method == MethodResourcesRead
}

// SetHeaders sets the headers of a message of the modern era: MCP-Protocol-Version, Mcp-Method and, if
// the method has one, Mcp-Name.
func SetHeaders(h http.Header, version string, m *Message) {
	h[HeaderVersion] = []string{version}
	if m.Method == "" {
		return
	}
	h[HeaderMethod] = []string{m.Method}
	if Named(m.Method) {
		h[HeaderName] = []string{EncodeHeader(m.Name)}
	}
}

// single returns the value of a header that may only be sent once.
func single(h http.Header, name string) (string, error) {
	switch values := h[name]; len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	default:
		return "", mismatch("the header %s is sent %d times", name, len(values))
	}
}

func mismatch(format string, args ...any) error {
	return &Error{Code: CodeHeaderMismatch, Message: fmt.Sprintf(format, args...)}
}

// Markers around an encoded header value (MCP 2026-07-28, Streamable HTTP, "Value Encoding"). They are
// case-sensitive.
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// EncodeHeader returns the text s in the form that Mcp-Name and Mcp-Param- headers use: unchanged if it
// is plain ASCII without surrounding white space, otherwise in Base64 between markers.
func EncodeHeader(s string) string {
	plain := strings.Trim(s, " \t") == s && !isEncoded(s)
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] <= '~'
	}
	if plain {
		return s
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(s)) + encodedSuffix
}

// DecodeHeader returns the text encoded in the value of an Mcp-Name or Mcp-Param- header. ok is false
// if the value is marked as Base64 of UTF-8 and is not, or if it contains characters that are not
// allowed.
func DecodeHeader(value string) (s string, ok bool) {
	if !isEncoded(value) {
		for i := range len(value) {
			if c := value[i]; (c < ' ' || c > '~') && c != '\t' {
				return "", false
			}
		}
		return value, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(value[len(encodedPrefix) : len(value)-len(encodedSuffix)])
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

func isEncoded(value string) bool {
	return len(value) >= len(encodedPrefix)+len(encodedSuffix) &&
		strings.HasPrefix(value, encodedPrefix) && strings.HasSuffix(value, encodedSuffix)
}
