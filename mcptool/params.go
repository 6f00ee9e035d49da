package mcptool

import (
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// paramsOf are the SDK's types of the params of the requests that a server gets.
var paramsOf = map[string]func() any{
	wire.MethodInitialize:      func() any { return new(mcp.InitializeParams) },
	wire.MethodToolsCall:       func() any { return new(mcp.CallToolParamsRaw) },
	wire.MethodToolsList:       func() any { return new(mcp.ListToolsParams) },
	wire.MethodPromptsGet:      func() any { return new(mcp.GetPromptParams) },
	"prompts/list":             func() any { return new(mcp.ListPromptsParams) },
	wire.MethodResourcesRead:   func() any { return new(mcp.ReadResourceParams) },
	"resources/list":           func() any { return new(mcp.ListResourcesParams) },
	"resources/templates/list": func() any { return new(mcp.ListResourceTemplatesParams) },
	"resources/subscribe":      func() any { return new(mcp.SubscribeParams) },
	"resources/unsubscribe":    func() any { return new(mcp.UnsubscribeParams) },
	"completion/complete":      func() any { return new(mcp.CompleteParams) },
	"logging/setLevel":         func() any { return new(mcp.SetLoggingLevelParams) }, //nolint:staticcheck // older clients ask for it
	"ping":                     func() any { return new(mcp.PingParams) },
	wire.MethodDiscover:        func() any { return new(mcp.DiscoverParams) },
	wire.MethodListen:          func() any { return new(mcp.SubscriptionsListenParams) },
}

// checkParams returns why the SDK cannot read the params of a request. The SDK itself
// checks before any middleware runs, and its answer contains all params, arguments
// included, and the names of Go types; or plain text if they are missing.
func checkParams(m *wire.Message) *recourse.Error {
	if missing := m.CheckParams(); missing != nil {
		return door.Refused(missing).CausedBy(missing).WithEffect(recourse.EffectNone).WithOrigin(recourse.OriginCaller)
	}
	params := paramsOf[m.Method]
	if params == nil || m.Kind != wire.Request || len(m.Params) == 0 {
		return nil
	}
	err := json.UnmarshalLenient(m.Params, params())
	if err == nil {
		return nil
	}
	v := recourse.Violation{Rule: "type", Message: "the params do not have the types that the protocol gives them"}
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok && wrong.JSONPointer != "" && kindNames[wrong.JSONKind] != "" {
		v.Pointer = string(wrong.JSONPointer)
		v.Param = strings.Join(slices.Collect(wrong.JSONPointer.Tokens()), ".")
		v.Message = v.Param + " cannot be " + kindNames[wrong.JSONKind]
	}
	return recourse.New(recourse.KindInvalidType, "").WithViolations(v).WithEffect(recourse.EffectNone).WithOrigin(recourse.OriginCaller).
		WithMessage("The params of %s cannot be read: %s.", m.Method, v.Message)
}

// kindNames are the kinds of JSON values in words.
var kindNames = map[json.Kind]string{
	'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
}
