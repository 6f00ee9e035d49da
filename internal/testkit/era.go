package testkit

// An Era is one of the two families of the protocol.
type Era int

const (
	// Legacy is 2025-11-25 and before: initialize, then a session.
	Legacy Era = iota
	// Modern is 2026-07-28: stateless, every request names its sender.
	Modern
)

// Protocol versions, as written in headers and members.
const (
	version20250326 = "2025-03-26"
	version20250618 = "2025-06-18"
	version20251125 = "2025-11-25"
	version20260728 = "2026-07-28"
)

// Version returns the newest protocol version of the era.
func (e Era) Version() string {
	if e == Modern {
		return version20260728
	}
	return version20251125
}

// String returns "legacy era" or "modern era".
func (e Era) String() string {
	if e == Modern {
		return "modern era"
	}
	return "legacy era"
}

// HTTP headers of the Streamable HTTP transport.
const (
	headerVersion     = "Mcp-Protocol-Version"
	headerSession     = "Mcp-Session-Id"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
	headerLastEventID = "Last-Event-ID"
)

// Members of `_meta` in the modern era.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Methods that both sides name.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodListen     = "subscriptions/listen"
	methodPing       = "ping"
	methodListTools  = "tools/list"
	methodCallTool   = "tools/call"
	methodElicit     = "elicitation/create"

	notifyInitialized  = "notifications/initialized"
	notifyCancelled    = "notifications/cancelled"
	notifyProgress     = "notifications/progress"
	notifyToolsChanged = "notifications/tools/list_changed"
	notifyListening    = "notifications/subscriptions/acknowledged"
)

// Media types of the transport.
const (
	typeJSON = "application/json"
	typeSSE  = "text/event-stream"
)

// JSON-RPC error codes that the misbehaving server uses when it behaves.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)
