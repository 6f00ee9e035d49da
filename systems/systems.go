// Package systems holds what the reference systems have in common. Each is an MCP server that uses package
// mcptool, to copy from, with the tools of its source, a backend in the same process, and a documented way to
// cause every failure of its contract.
package systems

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A System is a reference system. Its methods are safe for concurrent use.
type System interface {
	// MCPServer returns the server for stdio.
	MCPServer() *mcp.Server
	// Handler serves Streamable HTTP, to clients of both eras.
	Handler() http.Handler
	// Entrance returns what a client of Handler must send.
	Entrance() Entrance
	// Scenes returns calls to try, and what they show.
	Scenes() []Scene
	// Close stops the backend.
	Close() error
}

// An Entrance is the path of an endpoint and the headers with a client's credentials.
type Entrance struct {
	Path   string // such as /mcp
	Header http.Header
}

// A Scene is a call to try, and what it shows.
type Scene struct {
	Title     string
	Tool      string
	Arguments string // a JSON object
	// Entrance replaces the system's in scenes about credentials; nil means the system's.
	Entrance *Entrance
}

// MCPHandler returns the handler of server for clients of both eras. It has no sessions: the modern era needs
// none, and clients of the legacy era get none.
func MCPHandler(server *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true})
}
