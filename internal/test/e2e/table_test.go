package e2e_test

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A failure is a row of the table: what happens, and what each client's program then gets.
type failure struct {
	name    string // what happens, for the documentation
	forward bool   // the gateway forwards the client's Authorization
	begin   func(context.Context, *scene) error

	// What the program does: it calls a tool with arguments, sends another request, or connects. By default it calls
	// get_field.
	tool, arguments string
	method          string
	connects        bool
	patience        time.Duration

	// What the program gets: a result that reports the failure, an error, or, if both are nil, the result that it asked
	// for. A client missing from thrown gets that result, too.
	told   *told
	thrown map[string]thrown

	lost []string // clients that lose their session and have to reconnect
}

// A told is a tool result that reports a failure. It is the same for every client.
type told struct {
	kind   recourse.Kind
	origin recourse.Origin
	effect recourse.Effect
	after  time.Duration // the wait, in contracts without a member for it

	text string // the whole text in contract recourse; {id} is the request's id

	code       string // in contract fieldmcp
	retryable  bool
	retryAfter int // in seconds

	noStructure bool   // the tool declares an outputSchema, which a failure's structure would violate
	structure   string // the server's own structuredContent, which the record keeps; its _meta stays
}

// Tools that only this table uses.
const (
	measure = "measure" // reads, and declares an outputSchema
	hurried = "order_get"
)

// brief is the timeout of the tool that is meant to exceed it.
const brief = 300 * time.Millisecond

// serverTools are added to the tools of the testkit's server.
func serverTools() []testkit.Tool {
	return []testkit.Tool{{Name: measure, Definition: `{"name":"measure","inputSchema":{"type":"object"},` +
		`"outputSchema":{"type":"object","properties":{"value":{"type":"number"}},"required":["value"]}}`}}
}

// gatewayKeys configure the gateway in front of that server.
func gatewayKeys() []string {
	return []string{
		"/max_request: 64KiB",
		"tools: {get_field: {read_only: true}, measure: {read_only: true}, echo: {read_only: true}," +
			" order_get: {read_only: true, timeout: 300ms}," +
			" order_create: {read_only: false, verify: {tool: order_get, from: {reference: /reference}, look_at: status}}}",
	}
}

const order = `{"reference":"A-17","amount":12.5}`

func failures() []failure {
	return []failure{
		{
			name: "arguments that break the tool's inputSchema",
			tool: testkit.OrderCreate, arguments: `{"amount":"12","colour":"red"}`,
			told: &told{
				kind: recourse.KindMissingParam, origin: recourse.OriginCaller, effect: recourse.EffectNone,
				text: "[missing_param] reference is required; amount must be a number; colour is not a known parameter " +
					"(known and not given: currency, items, note and reference).\nNothing was done. Add reference and correct the rest, then call again.",
				code: "MISSING_REQUIRED_PARAM",
			},
		},
		{
			name: "a tool that does not exist",
			tool: "get_fild", arguments: `{}`,
			told: &told{
				kind: recourse.KindUnknownTool, origin: recourse.OriginCaller, effect: recourse.EffectNone,
				text: "[unknown_tool] There is no tool named \"get_fild\". Did you mean get_field?\nNothing was done. Call a tool listed by tools/list.",
				code: "INVALID_PARAM_VALUE",
			},
		},
		{
			name: "a method that does not exist", method: "prompts/list",
			// The gateway passes the server's error on unchanged: there is no record in it.
			thrown: with(byRPC(-32601, ""), tsModern, byHTTP(http.StatusNotFound)[tsModern]),
		},
		{
			name:  "the tool answers with an error of its own",
			begin: once(testkit.GetField, faults.ToolError("", "The field lies fallow.")),
			told: &told{
				kind: recourse.KindUnknown, origin: recourse.OriginServer, effect: recourse.EffectNone,
				text: "[unknown] The field lies fallow.\nNothing was changed.",
				code: "INTERNAL_ERROR",
			},
		},
		{
			name: "the same of a tool with an outputSchema", tool: measure, arguments: `{}`,
			begin: once(measure, faults.ToolError("", "The sensor is off.")),
			told: &told{
				kind: recourse.KindUnknown, origin: recourse.OriginServer, effect: recourse.EffectNone,
				text:        "[unknown] The sensor is off.\nNothing was changed.",
				code:        "INTERNAL_ERROR",
				noStructure: true,
			},
		},
		{
			name:  "the same with structuredContent and _meta of the server's own, which the record and _meta keep",
			begin: once(testkit.GetField, faults.RichToolError()),
			told: &told{
				kind: recourse.KindUnknown, origin: recourse.OriginServer, effect: recourse.EffectNone,
				text:      "[unknown] The field lies fallow.\nNothing was changed.",
				code:      "INTERNAL_ERROR",
				structure: faults.RichToolErrorStructure,
			},
		},
		{
			name:  "the tool's error gives away a password, addresses and a stack",
			begin: once(testkit.GetField, faults.LeakyToolError()),
			told: &told{
				kind: recourse.KindUnreachable, origin: recourse.OriginServer, effect: recourse.EffectNone,
				text: "[unreachable] could not create the order: dial [connection string]: connect: connection refused\n  \n  [stack trace]" +
					"\nSafe to repeat: make the same call again, a few times at most.",
				code: "PROVIDER_UNAVAILABLE", retryable: true, retryAfter: 30,
			},
		},
		{
			name:  "a JSON-RPC error whose data say {retryable: true, retryAfterMs: 1500}",
			begin: once(testkit.GetField, faults.RetryableError()),
			told: &told{
				kind: recourse.KindInternal, origin: recourse.OriginServer, effect: recourse.EffectNone, after: 1500 * time.Millisecond,
				text: "[internal] The provider is busy.\nSafe to repeat: wait 1.5 s, then make the same call again.",
				code: "INTERNAL_ERROR", retryAfter: 2, // fieldmcp's document forbids a retry, whatever a server says
			},
		},
		{
			name: "the server is down", begin: stop,
			told: &told{
				kind: recourse.KindUnreachable, origin: recourse.OriginGateway, effect: recourse.EffectNone,
				text: "[unreachable] The farm could not be reached.\nSafe to repeat: make the same call again, a few times at most.",
				code: "PROVIDER_UNAVAILABLE", retryable: true, retryAfter: 30,
			},
		},
		{
			name: "the server is down, tools/list: the last list is shown", begin: stop, method: "tools/list",
		},
		{
			name: "the server is down while the client connects: its first call", begin: stop, connects: true,
			told: &told{
				kind: recourse.KindUnreachable, origin: recourse.OriginGateway, effect: recourse.EffectNone,
				text: "[unreachable] The farm could not be reached.\nSafe to repeat: make the same call again, a few times at most.",
				code: "PROVIDER_UNAVAILABLE", retryable: true, retryAfter: 30,
			},
		},
		{
			name:  "503 once, for a call that reads",
			begin: once(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain)),
		},
		{
			name:  "503 every time",
			begin: always(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain)),
			told: &told{
				kind: recourse.KindUnavailable, origin: recourse.OriginServer, effect: recourse.EffectNone,
				text: "[unavailable] The farm is not available at the moment.\nSafe to repeat: make the same call again, a few times at most.",
				code: "PROVIDER_UNAVAILABLE", retryable: true, retryAfter: 30,
			},
		},
		{
			name:  "429 with Retry-After: 30",
			begin: always(testkit.GetField, faults.Status(http.StatusTooManyRequests, faults.Plain).With("Retry-After", "30")),
			told: &told{
				kind: recourse.KindRateLimited, origin: recourse.OriginServer, effect: recourse.EffectNone, after: 30 * time.Second,
				text: "[rate_limited] The farm limits requests at the moment.\nSafe to repeat: wait 30 s, then make the same call again.",
				code: "RATE_LIMIT_PROVIDER", retryable: true, retryAfter: 30,
			},
		},
		{
			name: "no answer in time", tool: hurried, arguments: `{"reference":"A-17"}`,
			begin: once(hurried, faults.Hang()),
			told: &told{
				kind: recourse.KindTimeout, origin: recourse.OriginGateway, effect: recourse.EffectNone,
				text: "[timeout] The farm did not answer within 300 ms.\nSafe to repeat: make the same call again, a few times at most.",
				code: "PROVIDER_TIMEOUT", retryable: true,
			},
		},
		{
			name: "the connection breaks during a call that writes", tool: testkit.OrderCreate, arguments: order,
			begin: once(testkit.OrderCreate, faults.ResetBeforeAnswer()),
			told: &told{
				kind: recourse.KindUnreachable, origin: recourse.OriginGateway, effect: recourse.EffectUnknown,
				text: "[unreachable] The connection to The farm broke before the answer was complete.\n" +
					`It is not known whether the call took effect. Before calling again: order_get(reference='A-17'), and look at status.`,
				code: "PROVIDER_UNAVAILABLE", retryAfter: 30,
			},
		},
		{
			name:  "JSON that breaks off, with status 200",
			begin: once(testkit.GetField, faults.TruncatedJSON()), told: nonsense(),
		},
		{
			name:  "an answer with another id",
			begin: once(testkit.GetField, faults.WrongID(testkit.JSON)), told: nonsense(),
		},
		{
			name:  "a web page with status 200",
			begin: once(testkit.GetField, faults.HTMLWith200()), told: nonsense(),
		},
		{
			// The gateway breaks the answer off, so that no program accepts it. The Go SDK then ends its session.
			name:  "an answer over decide_within that turns out to be broken",
			begin: once(testkit.GetField, faults.Large(testkit.JSON, 1<<20, faults.Broken)),
			thrown: map[string]thrown{
				goLegacy: {Class: "error"}, goModern: {Class: "error"},
				tsOne: {Class: "TypeError"}, tsLegacy: {Class: "TypeError"}, tsModern: {Class: "TypeError"},
			},
			lost: []string{goLegacy, goModern},
		},
		{
			name: "400 with a JSON-RPC error that has no id",
			begin: once(testkit.GetField, faults.StatusWith("", http.StatusBadRequest, "application/json",
				`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Bad Request"},"id":null}`)),
			told: &told{
				kind: recourse.KindInvalidRequest, origin: recourse.OriginServer, effect: recourse.EffectNone,
				text: "[invalid_request] Bad Request\nNothing was done. Do not repeat the call: the server does not take it in this form.",
				code: "INTERNAL_ERROR",
			},
		},
		{
			name:  "404 from something in front of the server",
			begin: always(testkit.GetField, faults.Status(http.StatusNotFound, faults.HTML)),
			told: &told{
				kind: recourse.KindClientError, origin: recourse.OriginServer, effect: recourse.EffectNone,
				text: "[client_error] The farm refused the request (HTTP 404).\nNothing was done. Do not repeat the call as it is.",
				code: "PROVIDER_ERROR",
			},
		},
		{
			name:  "401 to the gateway's own credentials",
			begin: once(testkit.GetField, faults.Unauthorized()),
			told: &told{
				kind: recourse.KindPermissionDenied, origin: recourse.OriginGateway, effect: recourse.EffectNone,
				text: "[permission_denied] The farm refused the gateway's own credentials. The operator of the gateway has to renew them.\n" +
					"Nothing was done. Do not repeat the call: a person has to change something at the server first. Tell them what the message says.",
				code: "PROVIDER_ERROR",
			},
		},
		{
			name: "401 to the client's credentials", forward: true,
			begin:  once(testkit.GetField, faults.Unauthorized()),
			thrown: passed(http.StatusUnauthorized), lost: []string{goLegacy, goModern},
		},
		{
			name: "the same, while the client connects", forward: true, connects: true, lost: everybody(),
			begin: func(_ context.Context, s *scene) error {
				s.server.Always("initialize", faults.Unauthorized())
				s.server.Always("server/discover", faults.Unauthorized())
				return nil
			},
			thrown: with(passed(http.StatusUnauthorized),
				tsModern, thrown{Class: "SdkHttpError", Code: "CLIENT_HTTP_AUTHENTICATION", Status: http.StatusUnauthorized}),
		},
		{
			name: "403 to the client's credentials, for want of a scope", forward: true,
			begin: once(testkit.GetField, faults.InsufficientScope()),
			thrown: with(with(passed(http.StatusForbidden),
				tsLegacy, thrown{Class: "InsufficientScopeError"}), tsModern, thrown{Class: "InsufficientScopeError"}),
			lost: []string{goLegacy, goModern},
		},
		{
			name: "the client's token was refreshed, which `forward` passes on and nobody has verified", forward: true,
			begin: func(ctx context.Context, s *scene) error {
				return s.program.setHeaders(ctx, map[string]string{"Authorization": "Bearer t0ken-2"})
			},
			lost: legacyClients(), thrown: unknownSession(),
		},
		{
			name: "a message that is larger than max_request",
			tool: testkit.Echo, arguments: `{"message":"` + strings.Repeat("a", 1<<18) + `"}`,
			told: &told{
				kind: recourse.KindTooLarge, origin: recourse.OriginCaller, effect: recourse.EffectNone,
				text: "[too_large] The request is larger than the 65536 bytes that are allowed.\nNothing was done. Send or ask for less at a time.",
				code: "INVALID_PARAM_VALUE",
			},
		},
		{
			name:  "the server was restarted, and has lost the session",
			begin: func(_ context.Context, s *scene) error { return s.server.Restart() },
		},
		{
			name:  "the gateway was restarted, and has lost the session",
			begin: func(_ context.Context, s *scene) error { return s.front.Restart() },
			lost:  legacyClients(), thrown: unknownSession(),
		},
		{
			name: "the client itself gives up waiting", patience: brief,
			begin: once(testkit.GetField, faults.Hang()),
			thrown: map[string]thrown{
				goLegacy: {Class: "context.DeadlineExceeded"},
				goModern: {Class: "context.DeadlineExceeded"},
				tsOne:    {Class: "McpError", Code: "-32001"},
				tsLegacy: {Class: "SdkError", Code: "REQUEST_TIMEOUT"},
				tsModern: {Class: "SdkError", Code: "REQUEST_TIMEOUT"},
			},
		},
	}
}

func nonsense() *told {
	return &told{
		kind: recourse.KindBadResponse, origin: recourse.OriginServer, effect: recourse.EffectNone,
		text: "[bad_response] The farm sent an invalid response.\n" +
			"Nothing was changed. Do not repeat the call: the server has to be fixed first.",
		code: "PROVIDER_ERROR",
	}
}

// everybody lists all clients.
func everybody() []string { return []string{goLegacy, goModern, tsOne, tsLegacy, tsModern} }

// legacyClients are the clients with sessions.
func legacyClients() []string { return []string{goLegacy, tsOne, tsLegacy} }

// unknownSession returns what the SDKs throw for the 404 of an unknown session. None starts a new one by itself, as the
// protocol requires (MCP 2025-11-25, basic/transports, "Session Management"); the Go SDK at least identifies the error.
func unknownSession() map[string]thrown {
	all := byHTTP(http.StatusNotFound)
	return map[string]thrown{goLegacy: {Class: "mcp.ErrSessionMissing"}, tsOne: all[tsOne], tsLegacy: all[tsLegacy]}
}

// byRPC returns what the SDKs throw for a JSON-RPC error in an answer with status 200.
func byRPC(code int, kind recourse.Kind) map[string]thrown {
	text := strconv.Itoa(code)
	rpc := func(class string) thrown { return thrown{Class: class, Code: text, Kind: kind} }
	return map[string]thrown{
		goLegacy: rpc("*jsonrpc.Error"), goModern: rpc("*jsonrpc.Error"),
		tsOne: rpc("McpError"), tsLegacy: rpc("ProtocolError"), tsModern: rpc("ProtocolError"),
	}
}

// passed returns what the SDKs throw for a refusal in the server's own words. The Go SDK ends its session after a 4xx
// without a JSON-RPC body, with or without a gateway.
func passed(status int) map[string]thrown {
	all := byHTTP(status)
	all[goLegacy], all[goModern] = thrown{Class: "error"}, thrown{Class: "error"}
	return all
}

// byHTTP returns what the TypeScript SDKs throw for an HTTP status.
func byHTTP(status int) map[string]thrown {
	v2 := thrown{Class: "SdkHttpError", Code: "CLIENT_HTTP_NOT_IMPLEMENTED", Status: status}
	return map[string]thrown{
		tsOne: {Class: "StreamableHTTPError", Code: strconv.Itoa(status)}, tsLegacy: v2, tsModern: v2,
	}
}

// with replaces what one client throws.
func with(all map[string]thrown, client string, one thrown) map[string]thrown {
	all = maps.Clone(all)
	all[client] = one
	return all
}

// once applies a fault to the tool's next call, always to every call.
func once(tool string, fault testkit.Fault) func(context.Context, *scene) error {
	return func(_ context.Context, s *scene) error {
		s.server.Next(tool, fault)
		return nil
	}
}

func always(tool string, fault testkit.Fault) func(context.Context, *scene) error {
	return func(_ context.Context, s *scene) error {
		s.server.Always(tool, fault)
		return nil
	}
}

func stop(_ context.Context, s *scene) error { return s.server.Stop() }
