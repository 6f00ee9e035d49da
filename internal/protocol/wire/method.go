package wire

import (
	"fmt"
)

// requests lists the methods of the requests that servers receive, in any version of MCP and in its
// extension for tasks, and whether they need params. For methods that few servers know, the server
// decides.
var requests = map[string]bool{
	MethodInitialize: true, MethodDiscover: false, "ping": false, "logging/setLevel": true,
	MethodToolsList: false, MethodToolsCall: true,
	"prompts/list": false, MethodPromptsGet: true, "completion/complete": true,
	"resources/list": false, "resources/templates/list": false, MethodResourcesRead: true,
	"resources/subscribe": true, "resources/unsubscribe": true, MethodListen: true,
	"tasks/get": false, "tasks/result": false, "tasks/update": false, "tasks/cancel": false, "tasks/list": false,
}

// CheckParams returns the reason why a request cannot be answered: its method needs params, and it has
// none (JSON-RPC 2.0, section 5.1). It returns nil for all other messages.
func (m *Message) CheckParams() *Error {
	if m.Kind != Request || !requests[m.Method] || len(m.Params) > 0 {
		return nil
	}
	return &Error{Code: CodeInvalidParams, Message: "params are missing, which " + m.Method + " needs", Pointer: "/params"}
}

// Refused returns the reason why a server refuses a well-formed message, as far as the message shows:
// the protocol has no such method, or params are missing. Otherwise it returns nil.
func (m *Message) Refused() *Error {
	_, known := requests[m.Method]
	switch {
	case m.Kind == Request && IsNotification(m.Method):
		return &Error{Code: CodeInvalidRequest, Message: "a notification has an id: " + clip(m.Method), Pointer: "/id"}
	case m.Kind == Request && !known:
		return &Error{Code: CodeMethodNotFound, Message: fmt.Sprintf("there is no method %q", clip(m.Method)), Pointer: "/method"}
	default:
		return m.CheckParams()
	}
}
