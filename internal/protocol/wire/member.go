package wire

import (
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/lexer"
)

// member is a place in a message that the gateway knows. All other places are memberOther: they are
// checked and passed on.
type member uint8

const (
	memberOther member = iota
	memberRoot
	memberJSONRPC
	memberID
	memberMethod
	memberParams
	memberParamsName
	memberParamsURI
	memberParamsArguments
	memberParamsRequestID
	memberParamsProgressToken
	memberParamsCursor
	memberParamsState
	memberParamsInputs
	memberParamsTask
	memberParamsMeta
	memberMetaProgressToken
	memberMetaProtocolVersion
	memberMetaClientInfo
	memberMetaClientCapabilities
	memberMetaLogLevel
	memberMetaSubscription
	memberMetaRequestID
	memberMetaTraceParent
	memberMetaTraceState
	memberMetaBaggage
	memberError
	memberResult
	memberResultType
	memberResultTTL
	memberResultCacheScope
	memberResultIsError
	memberResultContent
	memberResultStructured
	memberStructuredKind
	memberStructuredSuccess
	memberStructuredOK
	memberStructuredError
	memberResultError
	memberResultErrorCode
	memberResultErrorMessage
	memberResultMeta
	memberResultMetaSubscription
	memberResultMetaRecord
)

// pointers are the JSON Pointers to the members of a message.
var pointers = [...]string{
	memberJSONRPC:                "/jsonrpc",
	memberID:                     "/id",
	memberMethod:                 "/method",
	memberParams:                 "/params",
	memberParamsName:             "/params/name",
	memberParamsURI:              "/params/uri",
	memberParamsArguments:        "/params/arguments",
	memberParamsRequestID:        "/params/requestId",
	memberParamsProgressToken:    "/params/progressToken",
	memberParamsCursor:           "/params/cursor",
	memberParamsState:            "/params/" + RequestState,
	memberParamsInputs:           "/params/" + InputResponses,
	memberParamsTask:             "/params/task",
	memberParamsMeta:             "/params/_meta",
	memberMetaProgressToken:      "/params/_meta/progressToken",
	memberMetaProtocolVersion:    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
	memberMetaClientInfo:         "/params/_meta/io.modelcontextprotocol~1clientInfo",
	memberMetaClientCapabilities: "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
	memberMetaLogLevel:           "/params/_meta/io.modelcontextprotocol~1logLevel",
	memberMetaSubscription:       "/params/_meta/io.modelcontextprotocol~1subscriptionId",
	memberMetaRequestID:          "/params/_meta/io.github.recoursehq~1requestId",
	memberMetaTraceParent:        "/params/_meta/traceparent",
	memberMetaTraceState:         "/params/_meta/tracestate",
	memberMetaBaggage:            "/params/_meta/baggage",
	memberError:                  "/error",
	memberResult:                 "/result",
	memberResultType:             "/result/resultType",
	memberResultTTL:              "/result/ttlMs",
	memberResultCacheScope:       "/result/cacheScope",
	memberResultIsError:          "/result/isError",
	memberResultContent:          "/result/content",
	memberResultStructured:       "/result/structuredContent",
	memberStructuredKind:         "/result/structuredContent/kind",
	memberStructuredSuccess:      "/result/structuredContent/success",
	memberStructuredOK:           "/result/structuredContent/ok",
	memberStructuredError:        "/result/structuredContent/error",
	memberResultError:            "/result/error",
	memberResultErrorCode:        "/result/error/code",
	memberResultErrorMessage:     "/result/error/message",
	memberResultMeta:             "/result/_meta",
	memberResultMetaSubscription: "/result/_meta/io.modelcontextprotocol~1subscriptionId",
	memberResultMetaRecord:       "/result/_meta/io.github.recoursehq~1error",
}

// Keys of _meta: those in a client's request and in messages of a subscription (MCP 2026-07-28,
// basic/index, section on _meta), and our own.
const (
	MetaProgressToken      = "progressToken"
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaSubscription       = "io.modelcontextprotocol/subscriptionId"
	MetaRecord             = "io.github.recoursehq/error"
)

// The members with which a server asks its client something in the modern era (MCP 2026-07-28, "Multi
// Round-Trip Requests").
const (
	InputRequired  = "input_required" // the type of results that ask
	InputResponses = "inputResponses"
	RequestState   = "requestState"
)

// ExtensionTasks is the capability for tasks, an extension in the modern era.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// maxName is the longest spelling, including quotes, of a name that child knows: with all its
// characters written as \u escapes.
const maxName = 6*len(MetaClientCapabilities) + 2

// children are the known members of the objects at known ones, by their names, as the pointers say.
var children = func() (all [len(pointers)]map[string]member) {
	at := map[string]member{"": memberRoot}
	for i, pointer := range pointers[memberJSONRPC:] { // each stands behind the one that it is in
		m, last := memberJSONRPC+member(i), strings.LastIndexByte(pointer, '/')
		at[pointer] = m
		in := at[pointer[:last]]
		if all[in] == nil {
			all[in] = map[string]member{}
		}
		all[in][strings.ReplaceAll(pointer[last+1:], "~1", "/")] = m
	}
	return all
}()

// child returns the member with that name in the object at m.
func (m member) child(name []byte) member { return children[m][string(name)] }

// knownDepth is the deepest level at which the value of a known member begins.
const knownDepth = 4

// tracker tracks the known members while a lexer reads.
type tracker struct {
	next  member                 // the member whose value is next
	open  [knownDepth + 1]member // by depth: the member whose value the open container is
	start [knownDepth + 1]int    // by depth: the offset where it begins
}

// reset prepares t for a new text.
func (t *tracker) reset() { *t = tracker{next: memberRoot} }

// container returns the known member whose object is open in l, if any.
func (t *tracker) container(l *lexer.Lexer) member {
	if l.Depth == 0 || l.Depth > knownDepth {
		return memberOther
	}
	return t.open[l.Depth]
}

// value consumes a token of l other than a name. When a value ends with it, value returns the member
// and the span of that value; until then memberOther.
func (t *tracker) value(l *lexer.Lexer, tok lexer.Token) (member, Span) {
	m := t.next
	t.next = memberOther
	switch tok {
	case lexer.Object, lexer.Array:
		if l.Depth <= knownDepth {
			t.open[l.Depth], t.start[l.Depth] = m, l.Start
		}
		return memberOther, Span{}
	case lexer.End:
		if d := l.Depth + 1; d <= knownDepth {
			return t.open[d], Span{Start: t.start[d], End: l.Pos}
		}
		return memberOther, Span{}
	default:
		return m, Span{Start: l.Start, End: l.Pos}
	}
}
