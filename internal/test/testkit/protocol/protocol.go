// Package protocol is MCP as the servers and clients of testkit write it. It has nothing in common with
// internal/protocol/wire, so that the two can disagree.
package protocol

// Protocol versions, as written in headers and members.
const (
	Version20250326 = "2025-03-26"
	Version20250618 = "2025-06-18"
	Version20251125 = "2025-11-25"
	Version20260728 = "2026-07-28"
)

// HTTP headers of the Streamable HTTP transport.
const (
	HeaderVersion     = "Mcp-Protocol-Version"
	HeaderSession     = "Mcp-Session-Id"
	HeaderMethod      = "Mcp-Method"
	HeaderName        = "Mcp-Name"
	HeaderLastEventID = "Last-Event-ID"
)

// Members of `_meta` in the modern era.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo   = "io.modelcontextprotocol/clientInfo"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Methods that both sides name.
const (
	MethodInitialize = "initialize"
	MethodDiscover   = "server/discover"
	MethodListen     = "subscriptions/listen"
	MethodPing       = "ping"
	MethodListTools  = "tools/list"
	MethodCallTool   = "tools/call"
	MethodElicit     = "elicitation/create"

	NotifyInitialized  = "notifications/initialized"
	NotifyCancelled    = "notifications/cancelled"
	NotifyProgress     = "notifications/progress"
	NotifyToolsChanged = "notifications/tools/list_changed"
	NotifyListening    = "notifications/subscriptions/acknowledged"
)

// Media types of the transport.
const (
	TypeJSON = "application/json"
	TypeSSE  = "text/event-stream"
)

// JSON-RPC error codes that the misbehaving server uses when it behaves.
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeHeaderMismatch     = -32020
	CodeUnsupportedVersion = -32022
)

// What the servers say of themselves.
const (
	Capabilities = `{"tools":{"listChanged":true}}`
	ServerInfo   = `{"name":"testkit","version":"1.0.0"}`
)
