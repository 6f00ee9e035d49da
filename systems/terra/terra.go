package terra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
)

// contractName is the contract that the system implements.
const contractName = "terra"

// Options change a System. The zero value is valid.
type Options struct {
	// Logger gets a line for each failure, with its cause; nil means slog.Default.
	Logger *slog.Logger
	// PublicURL is the root under which clients know the gateway, such as https://api.example.com; "" means
	// the one in their requests.
	PublicURL string
	// Timeout is how long the MCP server of a region may take; 0 means 20 s.
	Timeout time.Duration
	// Client is the caller if there is no HTTP request, as on stdio; nil: unknown. A program takes it from
	// its environment.
	Client *Developer
}

// Developer is a caller, and the user whose data it reads.
type Developer struct{ DevID, APIKey, User string }

// System is the gateway and the MCP servers behind it. Get one with New.
type System struct {
	options    Options
	contract   *contract.Contract
	developers developers
	users      directory
	tables     map[string]*table // by tool
	server     *mcp.Server
	regions    *regions
	handler    http.Handler
}

var _ systems.System = (*System)(nil)

// serverOptions work out the schemas of the tools once: they are the same in every System.
var serverOptions = &mcp.ServerOptions{SchemaCache: mcp.NewSchemaCache()}

// New starts the MCP servers and returns the system; call Close when done.
func New(options Options) (*System, error) {
	c := contract.MustBuiltin(contractName)
	tables, err := readTables()
	if err != nil {
		return nil, fmt.Errorf("terra: %w", err)
	}
	options.Logger = cmp.Or(options.Logger, slog.Default())
	options.Timeout = cmp.Or(options.Timeout, 20*time.Second)
	s := &System{options: options, contract: c, developers: knownDevelopers(), users: knownUsers(), tables: tables}
	s.server = s.newServer()
	s.regions, err = newRegions(systems.MCPHandler(s.server), s.users, options.Timeout, options.Logger)
	if err != nil {
		return nil, fmt.Errorf("terra: %w", err)
	}
	s.handler = mcptool.Guard(s.regions, c,
		mcptool.WithAuthenticator(s.developers), mcptool.WithUsers(s.users), mcptool.WithPublicURL(options.PublicURL),
		mcptool.WithChallenge(""), mcptool.WithLogger(options.Logger))
	return s, nil
}

// MCPServer returns the MCP server that every region runs.
func (s *System) MCPServer() *mcp.Server { return s.server }

// Handler returns the gateway.
func (s *System) Handler() http.Handler { return s.handler }

// Entrance returns what a client of Handler must send to read Ada's data.
func (s *System) Entrance() systems.Entrance {
	return s.entrance(Ada, http.Header{devIDHeader: {DevID}, keyHeader: {APIKey}})
}

func (s *System) entrance(user string, header http.Header) systems.Entrance {
	return systems.Entrance{Path: strings.Replace(s.contract.Session.Path, "{user_id}", user, 1), Header: header}
}

// Close stops the MCP servers of the regions.
func (s *System) Close() error { return s.regions.close() }

func (s *System) newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: contractName, Title: "Terra", Version: "1.0.0"}, serverOptions)
	for name, t := range s.tables {
		mcp.AddTool(server, &mcp.Tool{
			Name: name, Title: t.Title, Description: t.describe(), InputSchema: inputSchema,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		}, s.tool(t))
	}
	mcptool.Use(server, s.contract, mcptool.WithLogger(s.options.Logger))
	return server
}

// tool returns the handler of the tool for a table.
func (s *System) tool(t *table) mcp.ToolHandlerFor[query, toolResult] {
	return func(ctx context.Context, req *mcp.CallToolRequest, q query) (*mcp.CallToolResult, toolResult, error) {
		user, err := s.userOf(ctx, req)
		if err != nil {
			return nil, toolResult{}, err
		}
		data, err := q.run(t, t.rows[user])
		return nil, toolResult{Data: data}, err
	}
}

// toolResult is the result of the tools.
type toolResult struct {
	Data []map[string]any `json:"data" jsonschema:"one object for each record; of a select, one for all of them"`
}

// userOf returns the user whose data a call may read.
func (s *System) userOf(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
	if req.Extra == nil || req.Extra.Header == nil {
		return s.localUser(ctx)
	}
	user := sameUser(req.Extra.Header.Get(userHeader))
	if user == "" {
		return "", failure("no-user-header", recourse.KindInternal)
	}
	return user, nil
}

// localUser checks the client of Options in the same order in which the gateway checks clients over HTTP.
// Without an HTTP answer, the same sentences are tool errors.
func (s *System) localUser(ctx context.Context) (string, error) {
	c := s.options.Client
	switch {
	case c == nil:
		return "", failure("no-context", recourse.KindInternal)
	case c.DevID == "" || c.APIKey == "":
		return "", refusal("credentials-missing", recourse.KindUnauthenticated)
	}
	if !s.developers.know(c.DevID, c.APIKey) {
		return "", refusal("credentials-invalid", recourse.KindUnauthenticated)
	}
	if c.User == "" {
		return "", refusal("user-missing", recourse.KindMissingParam)
	}
	switch err := s.users.Check(ctx, c.DevID, c.User); {
	case errors.Is(err, recourse.KindNotFound):
		return "", refusal("user-invalid", recourse.KindNotFound)
	case err != nil:
		return "", failure("before-tool", recourse.KindInternal).CausedBy(err)
	}
	return c.User, nil
}

// failure returns the failure with the contract's sentence for code, for cases in which the kind alone does
// not determine the sentence.
func failure(code string, kind recourse.Kind) *recourse.Error {
	return recourse.New(kind, "").WithCode(contractName, code)
}

// refusal returns a failure that is the caller's fault, not the server's.
func refusal(code string, kind recourse.Kind) *recourse.Error {
	return failure(code, kind).WithOrigin(recourse.OriginCaller)
}
