// Package api presents an HTTP API as an MCP server of the modern era.
//
// [Adapter.Do] answers server/discover and tools/list from what [openapi.Compile] has made of the API's
// description, and turns tools/call into a request to the provider:
//
//	tools/call
//	  |  api.go      finds the tool
//	  |  send.go     sends its request (openapi.Tool.Request): where it goes, what goes with it, redirects
//	  v
//	the provider
//	  |  answer.go   makes of its answer a result, or an Error
//	  |  pages.go    adds what the answer says of more results
//	  v
//	the answer to tools/call
//
// A status of 400 or more is never a result. It becomes an Error whose cause is a [RefusedError], so that
// callers who know more about the provider's errors can read it again.
package api
