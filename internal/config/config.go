// Package config is the gateway's configuration: the structs, which are their own documentation, and a
// loader that reports every mistake in a file at once.
//
//	the file
//	  |  strictyaml.Parse    YAML, with the position of everything
//	  |  Expand              the values of environment variables
//	  |  Decode              into the structs: unknown keys, wrong types
//	  |  validator           what no type can say; reads contracts, families and API descriptions
//	  v
//	are there mistakes? Parse returns all of them, each with its line
//	  |  complete            defaults that follow from other keys
//	  v
//	Config                   which the gateway makes a table of endpoints from
//
// A reload does this again. The gateway then compares entries ([Server.Same], [Server.SameReach]), and keeps what
// belongs to those that have not changed.
//
// A field's key is in its yaml tag, its default in the default tag (in parentheses unless it is a literal)
// and its meaning in the doc tag. [Reference] generates docs/configuration.md from them.
package config

import (
	"time"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/upstream/openapi"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Config is the gateway's configuration. It is not changed after loading and then safe
// for concurrent use.
type Config struct {
	// Files with more servers, endpoints, access and providers, relative to this one: names, patterns such as
	// `servers/*.yaml`, or folders, of which the files `*.yaml` and `*.yml` count. See [below](#several-files).
	Include []string `yaml:"include" default:"(none)"`
	// Address and port that the gateway listens on. Port 0 takes a free one.
	Listen string `yaml:"listen" default:"127.0.0.1:8787"`
	// Address and port of a second listener for operations: `/healthz`, `/readyz`, and `/metrics` for
	// Prometheus. Whoever reaches these may read them; `console_access` guards the console and
	// `journal_tools`. Changes need a restart.
	Admin string `yaml:"admin" default:"(none)"`
	// Whether `admin` may be an address that other machines can reach, for example in a container's private
	// network.
	AdminRemote bool `yaml:"admin_remote" default:"false"`
	// Whether `admin` also serves the [console](console.md): calls that failed and what became of each,
	// servers, contracts and accounts. Changes need a restart.
	Console bool `yaml:"console" default:"false"`
	// Entry of `access` whose API keys let operators sign in to the console, and their agents use
	// `journal_tools`. Without it there is no access control, which requires an `admin` on loopback. Changes
	// need a restart.
	ConsoleAccess string `yaml:"console_access" default:"(none)"`
	// Role that an API key must have to open the console or to use `journal_tools`. Changes need a restart.
	ConsoleRole string `yaml:"console_role" default:"operator"`
	// Whether `admin` also serves the [journal](journal.md) to agents, at `/mcp`: tools that list the calls
	// that failed and tell what happened. Changes need a restart.
	JournalTools bool `yaml:"journal_tools" default:"false"`
	// Whether `admin` also serves profiles of the process to Go's tools, at `/debug/pprof/`. Changes need a
	// restart.
	Profiles bool `yaml:"profiles" default:"false"`
	// Certificate for https, with TLS 1.2 or later and HTTP/2. Without it, the gateway speaks plain http.
	// Turning it on or off needs a restart.
	TLS *TLS `yaml:"tls" default:"(none)"`
	// Where to send traces: a span for each request and each attempt, by OpenTelemetry's conventions for MCP.
	// Turning it on or off needs a restart.
	Tracing *Tracing `yaml:"tracing" default:"(none)"`
	// URL at which clients reach the gateway, if there is a proxy in front of it. Its host is accepted as a
	// request's `Host`.
	PublicURL string `yaml:"public_url" default:"(none)"`
	// Web origins whose pages may call the gateway, such as `https://app.example.com`. A request with any
	// other `Origin` is refused. Requests without one, from clients that are not browsers, are not affected.
	Origins []string `yaml:"origins" default:"(none)"`
	// Host names, with or without a port, that the gateway answers to, in addition to the address it listens
	// on, the loopback names and the host of `public_url`. A request for any other `Host` is refused, which
	// stops DNS rebinding.
	Hosts []string `yaml:"hosts" default:"(none)"`

	// Largest request body. A larger one is refused, and a call is told so in its result; only the beginning is kept.
	MaxRequest strictyaml.Size `yaml:"max_request" default:"4MiB"`
	// Largest answer from a server. A larger one becomes an error. `0` means no limit: answers are streamed,
	// so their size costs no memory.
	MaxResult strictyaml.Size `yaml:"max_result" default:"0"`
	// How much of an answer is read before it is passed on, to find out whether it is a failure. A failure
	// found after that is logged and counted, but not rewritten.
	DecideWithin strictyaml.Size `yaml:"decide_within" default:"256KiB"`
	// How much is read of a failure recognised within `decide_within`. A longer one is truncated, and says
	// so. Up to 8 failures over `decide_within` are held at a time.
	MaxFailure strictyaml.Size `yaml:"max_failure" default:"4MiB"`
	// How many bytes of requests may be under way at once; less than twice `max_request` counts as that. A
	// request over the limit is refused as rate limited, with a wait of a second; it has done nothing. A
	// quarter of these bytes is reserved for requests of up to 64 KiB.
	MaxInFlight strictyaml.Size `yaml:"max_in_flight" default:"64MiB"`
	// Memory that the program tries to stay within, by collecting garbage more often as it gets close. Work
	// over the limit becomes slower, but is not refused. The environment variable GOMEMLIMIT takes
	// precedence. `0` means no limit.
	MemoryLimit strictyaml.Size `yaml:"memory_limit" default:"448MiB"`

	// Where callers have accounts that servers need, by name; see [connections](connections.md).
	Providers strictyaml.Map[Provider] `yaml:"providers" default:"(none)"`
	// Secrets of at least 32 characters that seal the tokens of connections in the store, the newest first.
	// After a change, `recourse connections rekey` seals all of them with the newest.
	ConnectionKeys []string `yaml:"connection_keys,secret" default:"(none)"`

	// Secrets of at least 32 characters, the newest first, such as `${SESSION_KEY}`. With them, sessions of
	// clients before 2026-07-28 outlive a restart, and any replica with the same keys continues them: the
	// session's state is encrypted in its id. With `redis`, state that does not fit into an id is kept there,
	// encrypted. Without keys, sessions are kept in memory.
	SessionKeys []string `yaml:"session_keys,secret" default:"(none)"`
	// How long the gateway keeps accepting requests after SIGTERM. Meanwhile `/readyz` answers 503 and every
	// answer asks the client to close its connection, so that a load balancer can move clients to other
	// replicas. Set it to a little more than the load balancer takes to notice.
	ShutdownDelay time.Duration `yaml:"shutdown_delay" default:"0s"`

	// Database for the journal of calls, API keys and connections: `sqlite:recourse.db`, a file relative to
	// this one, or `postgres://user:${PASSWORD}@host/database`, which replicas share. The tables are created
	// and migrated at startup. Without it nothing is stored. Changes need a restart.
	Store string `yaml:"store,secret" default:"(none)"`
	// Whether the tools of all servers are [pinned](trust.md#pins), other than those whose own entry says
	// otherwise. Needs a `store`.
	Pin bool `yaml:"pin" default:"false"`
	// What the store keeps of calls. `recourse failures` and `recourse explain` read it.
	Journal *Journal `yaml:"journal" default:"(all defaults, if there is a store)"`

	// Form of the log: `auto` is text on a terminal and JSON otherwise.
	Log LogFormat `yaml:"log" default:"auto"`
	// Whether the log has a line for each request: who called what, how it ended, and how long it took, but
	// not the arguments. It is logged at the level `info`.
	AccessLog bool `yaml:"access_log" default:"false"`
	// The lowest level that is logged: `debug`, `info`, `warn` or `error`. It can change while the gateway
	// runs.
	LogLevel LogLevel `yaml:"log_level" default:"info"`

	// Redis in which calls are counted for [limits](limits.md), so that replicas of the gateway share them:
	// `redis://127.0.0.1:6379/0`, `rediss://` for TLS, or `unix:///run/redis.sock`. Further nodes of a
	// cluster follow as `?addr=HOST:PORT`. With `?master_name=NAME` they are Sentinels. Without it, each process
	// counts in its own memory. With `session_keys` it also holds what does not fit into
	// session ids, and what clients have subscribed to.
	Redis string `yaml:"redis,secret" default:"(none)"`
	// What happens to calls while Redis does not answer: with `open` each process counts on in its own
	// memory, with `closed` they are refused.
	OnRedisFailure OnRedisFailure `yaml:"on_redis_failure" default:"open"`
	// Files with your own contracts, relative to this file. Servers can name them like the built-in ones.
	Contracts []string `yaml:"contracts" default:"(none)"`
	// Networks or addresses of proxies in front, such as `10.0.0.0/8`, that are trusted to state the client's
	// address: the last one in `X-Forwarded-For` that is not a trusted proxy (in `Forwarded`, if that is the
	// only header). Without this, the connection's address counts, so all clients behind a proxy are locked
	// out if one of them fails to authenticate too often.
	TrustedProxies []string `yaml:"trusted_proxies" default:"(none)"`
	// When a client's address is refused with 429 because it has failed to authenticate too often, even if it
	// then sends valid credentials. It applies to endpoints with `access`. A request without credentials does
	// not count. For IPv6, the first 64 bits of the address count.
	Lockout *Lockout `yaml:"lockout" default:"(25 failures within 15m)"`
	// Named ways to find out who calls, for `access` of a server. See [Who may call](access.md).
	Access strictyaml.Map[Access] `yaml:"access" default:"(none)"`
	// The MCP servers behind the gateway, by name. A name consists of lower-case letters, digits, hyphens and
	// underscores. At least one, here or in a file that is included.
	Servers Servers `yaml:"servers" default:"(none)"`
	// Endpoints that offer several servers at one path, by name: see [Many servers, one endpoint](many.md).
	Endpoints Endpoints `yaml:"endpoints" default:"(none)"`

	_ struct{} `why:"Go's HTTP server reads all requests" gone:"front"`
}

// Servers are the servers of a [Config] in the order of the file.
type Servers []*Server

// Server is an MCP server behind the gateway.
type Server struct {
	// Name is the key in the file.
	Name string `yaml:",key"`
	// Local says that the server's only client is the host that started this program, as with `recourse
	// wrap`: it may learn why the server's program does not start.
	Local bool
	// AccountHeader is the header in which the server gets its connection's credential; "" if there is none.
	AccountHeader string
	// UserPlace is the placeholder for the user of the path in the entry's URLs, headers and query; "" if there is none.
	UserPlace string

	// The server's MCP endpoint (Streamable HTTP), http or https. A server has this, `command` or `openapi`.
	URL string `yaml:"url" default:"(none)"`
	// OpenAPI description (3.0 or 3.1, JSON or YAML) of an HTTP API that is served as tools: a file, relative
	// to this one, or a URL that is read at startup and on each reload. `operations` selects the operations
	// to offer. A server has one of `url`, `command` and this. See [HTTP APIs](http-apis.md).
	OpenAPI string `yaml:"openapi" default:"(none)"`
	// URL before the paths of the description.
	BaseURL string `yaml:"base_url" default:"(the description's first server)"`
	// Parameters added to the query of every request to the API, such as `{api_key: "${KEY}"}`. Their values
	// are never shown.
	Query map[string]string `yaml:"query,secret" default:"(none)"`
	// Routes that say which operations are tools. The first one that matches an operation counts; an
	// operation that none matches is not offered.
	Operations []Operation `yaml:"operations" default:"(none)"`
	// Program and arguments of a server that speaks MCP on standard input and output. The gateway starts it
	// on the first call, and again after a crash. A name is looked up in PATH, a relative path in `cwd`.
	Command []string `yaml:"command" default:"(none)"`
	// Environment of the program. It gets PATH, HOME and the variables listed here, and nothing else, except
	// on Windows what every program needs, such as SYSTEMROOT, and on Linux RECOURSE_PROCESS. With this
	// variable, processes that the program has started are found and killed along with it, even in a session
	// of their own, unless they have removed the variable. A value that is secret by its name (`FARM_TOKEN`)
	// or by its form is masked in failures and in the log, wherever it appears.
	Env map[string]string `yaml:"env,secret" default:"(none)"`
	// Folder in which the program is started.
	Cwd string `yaml:"cwd" default:"(the gateway's)"`
	// Who shares the program. With `all`, every client talks to the same one, which is told that no client
	// can be asked anything, and whose logs and tasks no client is shown. With `client`, each session has its
	// own; in the modern era, which has no sessions, each value of the header authorization does. Clients of
	// the modern era without that header share one as with `all`. Up to 100 of these run; a new one replaces
	// the one that has been idle longest.
	Share Share `yaml:"share" default:"all"`
	// The program is stopped after this time without a call, and started again on the next one. With `share:
	// client` it also counts as in use while its client keeps a stream open, as the host of a wrapper does.
	Idle time.Duration `yaml:"idle" default:"(never; 30m with share: client)"`
	// The server's display name, for hints and pages.
	Title string `yaml:"title" default:"(its name)"`
	// Path on the gateway at which clients reach the server. One segment may be in braces, such as
	// `{user_id}`: it is the user. The server gets it in the header that the contract names, and wherever the
	// same `{user_id}` stands in `url`, `headers`, `base_url` and `query`. `users` says who may be whom. A
	// user has up to 128 letters, digits, signs of `-_.~:@+=` and vertical bars. With `none` the server is
	// only reached through `endpoints`.
	Path string `yaml:"path" default:"(/NAME/mcp)"`
	// Contract in which failures reach the client: a built-in one or one of `contracts`. A failure that the
	// server itself has written in it stays as it is: see [trust.md](trust.md).
	Contract string `yaml:"contract" default:"recourse"`
	// How the server itself writes failures: a contract, families of [failures in the wild](wild.md), files
	// with your own families (`[aws, ./ours.yaml]`), or several of these, but at most one contract. Needed
	// for failures that could also be a success, such as `success: false`; definite failures are recognised
	// without it, in all of the built-in forms and in that of the entry's `contract`, with codes that it does
	// not list as well. An answer that says success and looks like a failure passes unchanged; the log, the
	// [journal](journal.md) and the console name the line that has it told.
	Reads Reads `yaml:"reads" default:"(none)"`
	// Whether failures are rewritten. `observe` passes everything on unchanged and logs what `enforce` would
	// have done.
	Mode Mode `yaml:"mode" default:"enforce"`
	// How a failed call of a tool reaches the client. With `result` it is a tool result, which every agent shows to its model, but
	// for what the client's program has to handle itself; a contract may have a JSON-RPC error for some failures. With
	// `protocol` it is a JSON-RPC error where MCP defines one: for an unknown tool, and for what is wrong with the message
	// itself, and for a client that starts while the server is down. Most agents show the model nothing of these, and some end with them.
	Errors ErrorForm `yaml:"errors" default:"result"`
	// How long a call may show no sign of life. It should be less than what clients wait: 60 s, in most SDKs. A client
	// that has given up learns nothing of what became of the call. A progress notification, or a question from the server
	// to its client, restarts it. A call that waits for long-running work, in the way that its contract describes
	// under `poll`, has the time that it asks for in addition, up to an hour; meanwhile its client hears
	// every 15 s that it goes on, if it has asked for progress and the server reports none.
	Timeout time.Duration `yaml:"timeout" default:"45s"`
	// How long a call may take altogether, repetitions included. The time that a call asks for to wait for
	// long-running work is not counted.
	MaxTimeout time.Duration `yaml:"max_timeout" default:"10m"`
	// Headers sent with every request to the server, such as `Authorization`. Their values are never shown.
	// Headers that the protocol or the connection needs cannot be set.
	Headers map[string]string `yaml:"headers,secret" default:"(none)"`
	// Provider, one of `providers`, whose credential for the caller is sent to the server. A call without one
	// fails with a link at which a person can connect the account.
	Connection string `yaml:"connection" default:"(none)"`
	// Headers of the client's request that are passed on to the server. If `authorization` is among them, a
	// 401 or 403 from the server goes back to the client unchanged; if the headers in which the contract asks
	// for credentials are among them, the client gets it in the contract's form; otherwise it means that the
	// gateway's own credentials were refused. If `x-forwarded-for` is among them, the client's address is
	// added to it, so that the server can tell one client from another.
	Forward []string `yaml:"forward" default:"(none)"`
	// Whether the tools' own annotations (`readOnlyHint` and `idempotentHint`) count when the gateway decides
	// whether a call may be repeated. A program that you start yourself is believed; a server elsewhere, only
	// if you say so; of an operation of an HTTP API, its method and route tell.
	TrustAnnotations *bool `yaml:"trust_annotations" default:"(true for command and openapi, false for url)"`
	// Whether the server's tools are [pinned](trust.md#pins): clients go on getting their definitions as they
	// were first seen, and new tools not at all, until somebody accepts what has changed with `recourse pin`.
	// Needs a `store`.
	Pin *bool `yaml:"pin" default:"(that of the top level)"`
	// Whether to believe the server about who failed, whether a call that writes changed nothing, and what to
	// do next. For your own servers. Of an HTTP API, also about the form of its answers: its tools then
	// declare an outputSchema.
	Trusted bool `yaml:"trusted" default:"false"`
	// What is masked in failures on their way to the client: `secrets` (credentials and connection strings),
	// `all` (stack frames, private addresses and paths as well), or `off` (nothing). Secrets in the entry and
	// in the call are masked however they are spelled. At most 16 MiB of the texts of one answer are checked,
	// and 4 MiB of a single text; anything beyond that is not shown, and neither is what cannot be checked in
	// the time that the call has. The server's questions, progress and logs are masked as with `secrets`,
	// error logs like failures. What cannot be masked becomes bad_response.
	Redact Redact `yaml:"redact" default:"(secrets for command, otherwise all)"`
	// How the server recognises a repetition of a call that is made `once`: by the key that the gateway puts
	// into `_meta["io.github.recoursehq/idempotencyKey"]` (`meta`), or into the header of this name, which is
	// the same for each repetition. Such a call is repeated after a transient fault. An operation of an HTTP
	// API that declares the header Idempotency-Key gets it without this.
	IdempotentBy string `yaml:"idempotent_by" default:"(the server does not)"`
	// Who may call: names of entries of the top level's `access`, or `loopback` for callers on the gateway's
	// own machine. The first one that knows the credentials in a request decides. The credentials are not
	// passed on to the server, unless `forward` says so.
	Access []string `yaml:"access" default:"(everybody is let in)"`
	// Which users a caller may be, if the path names the user; needs `access`. Any other user is refused as
	// one that is not valid. See [Who may call](access.md#which-user).
	Users *Users `yaml:"users" default:"(every caller may be any user)"`
	// What callers may do. A caller may do what any grant allows, and nothing else: tools/list names only the
	// tools that the caller may call.
	Grants []Grant `yaml:"grants" default:"(every caller may do everything)"`
	// How often the server's tools may be called, by name: see [limits](limits.md). A call over a limit is
	// refused with the time to wait, and the server never sees it. The names appear in answers and metrics.
	Limits Limits `yaml:"limits" default:"(none)"`
	// Whether successful answers to calls also say what remains of the limits, in the headers RateLimit,
	// RateLimit-Policy and X-RateLimit-Limit, -Remaining and -Reset. Refusals always do.
	LimitHeaders bool `yaml:"limit_headers" default:"false"`
	// Whether the tool `recourse_status` is offered as well, by which an agent asks whether the account of `connection` is
	// connected, with which scopes and until when, and what is left of `limits`. It counts for no limit.
	StatusTool bool `yaml:"status_tool" default:"false"`
	// Name of the [profile](profiles.md) that says what the server's tools do where neither they nor `tools` do,
	// or `none`.
	Profile string `yaml:"profile" default:"(that of what command starts, if there is one)"`
	// What is known about individual tools, by name or pattern. In a pattern `*` stands for any characters
	// and `?` for any single one. Only one entry applies: an exact name, or else the longest pattern that
	// matches.
	Tools strictyaml.Map[Tool] `yaml:"tools" default:"(none)"`

	// Holds calls back from a server, or one of its tools, that does not answer. `breaker: {}` turns it on
	// with the defaults below. A call that is held back fails at once as unavailable, has no effect, and says
	// how long to wait.
	Breaker *Breaker `yaml:"breaker" default:"(none)"`
	// Bounds how many calls to the server are under way at once, so that one server that hangs does not take
	// what the others need.
	Concurrency *Concurrency `yaml:"concurrency" default:"(no limit)"`
	// Sends a call that only reads a second time if its answer is late, and takes the answer that begins
	// first. Only for servers with `url`. A call is sent twice at most, only while the retry budget allows
	// it, and never while a breaker is open or all places of `concurrency` are taken.
	Hedge *Hedge `yaml:"hedge" default:"(none)"`

	// API is what the description offers. After loading it is not nil if there is a description.
	API *openapi.API
	// Known is the server's profile. After loading it is not nil if there is one.
	Known *Profile

	exact    map[string]Tool
	patterns []toolPattern
}

// Tool holds the settings of a tool.
type Tool struct {
	// Whether the tool changes nothing. A call to a tool that only reads is repeated after a transient fault;
	// a call that writes is not, unless it certainly did nothing.
	ReadOnly *bool `yaml:"read_only" default:"(what the contract or trusted annotations say, else false)"`
	// Whether calling the tool twice with the same arguments has the same effect as calling it once, so that
	// a call may be repeated even though the tool writes.
	Idempotent *bool `yaml:"idempotent" default:"(what trusted annotations say, else false)"`
	// Replaces the server's timeout for this tool.
	Timeout time.Duration `yaml:"timeout" default:"(the server's)"`
	// Bounds how many calls of this tool are under way at once. The tools that match a pattern share the
	// bound. A call needs a place here as well as in the server's own `concurrency`.
	Concurrency *Concurrency `yaml:"concurrency" default:"(no limit)"`
	// The call that settles whether a failed call of this tool took effect. A tool with a verify call is
	// assumed to write, unless read_only says otherwise.
	Verify *Verify `yaml:"verify" default:"(what the contract says)"`
	// What a success of this tool looks like, as a list: `[{path: /order/id, equals: /order_id}]`. An answer
	// that says success and does not look like it is a failure of kind `bad_response`, and whether a write
	// took effect is then unknown. Answers larger than `decide_within` are not checked.
	Expects []Expect `yaml:"expects" default:"(what the contract says)"`
	// Whether a repetition of a call, by whomever, is kept from happening again: `true`, `contract` if the
	// contract knows the key, or a mapping. It needs a `store`. See [Once](once.md).
	Once *Once `yaml:"once" default:"(every call is sent)"`

	// Known is what the server's profile says about the tool; nil: nothing.
	Known *ProfileTool
}

// Expect is a part of what a success looks like.
type Expect struct {
	// JSON Pointer into the answer's data: its structured content, or else the JSON in its text. `*` stands
	// for every item of a list. There must be a value; null is none.
	Path string `yaml:"path,required" default:"(none)"`
	// JSON Pointer into the arguments. If the call has the argument, the value must be a list with an item.
	NotEmptyFor string `yaml:"not_empty_for" default:"(none)"`
	// JSON Pointer into the arguments. If the call has the argument, the value must be the same: the thing
	// that was asked for is the one that was answered. A number equals its text.
	Equals string `yaml:"equals" default:"(none)"`
}

// Expectations returns what a success of the tool looks like, as contracts have it.
func (t *Tool) Expectations() []contractform.Expectation {
	list := make([]contractform.Expectation, len(t.Expects))
	for i, x := range t.Expects {
		list[i] = contractform.Expectation(x)
	}
	return list
}

// Verify is a call that finds out whether another call took effect.
type Verify struct {
	// Tool to call. It must not change anything.
	Tool string `yaml:"tool,required" was:"call" default:"(none)"`
	// Arguments taken from the failed call: maps a parameter to a JSON Pointer into that call's arguments.
	From map[string]string `yaml:"from" was:"args" default:"(none)"`
	// Constant arguments: maps a parameter to its value.
	With map[string]any `yaml:"with" default:"(none)"`
	// What to look at in its answer, in a word or two.
	LookAt string `yaml:"look_at" was:"look" default:"(none)"`
	// What its answer looks like if the call took effect. With it, the gateway itself can settle what became
	// of a call that is made `once`.
	Landed *Landed `yaml:"landed" default:"(a person decides)"`
}

// PathNone is the path of a server that clients only reach through endpoints.
const PathNone = "none"

// LogFormat is the form of the log.
type LogFormat string

// The forms of the log.
const (
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// LogLevel is the lowest level that is logged.
type LogLevel string

// The levels of the log.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// Mode says whether a server's failures are rewritten.
type Mode string

// The modes of a server.
const (
	ModeEnforce Mode = "enforce"
	ModeObserve Mode = "observe"
)

// ErrorForm says how a failed call of a tool reaches the client.
type ErrorForm string

// The forms of failed calls.
const (
	ErrorsResult   ErrorForm = "result"
	ErrorsProtocol ErrorForm = "protocol"
)

// Share says who shares a program.
type Share string

// Who shares a program.
const (
	ShareAll    Share = "all"
	ShareClient Share = "client"
)

// Redact says what is masked in failures for the client.
type Redact string

// What is masked.
const (
	RedactOff     Redact = "off"
	RedactSecrets Redact = "secrets"
	RedactAll     Redact = "all"
)
