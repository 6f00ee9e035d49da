// Package terra is a reference system for the contract terra: the health data of the
// users of an application, behind an HTTP gateway.
//
// The gateway is [mcptool.Guard] in front of a reverse proxy. It checks dev-id and x-api-key and the user
// that the path names, and passes the request on to the MCP server of the user's region, with the user in
// Provider-User-Id. That server has six tools that take a query, which selects fields or aggregates them for
// records that meet a condition. A query that cannot be carried out fails with one of the sentences that the
// contract guarantees.
//
// # How to make it fail
//
// The credentials are dev-id [DevID] and x-api-key [APIKey]. A path /api/v2/mcp/USER with one of these users
// has the following effect:
//
//	8f7c2a10-5f1e-4f43-9d0c-000000000001  Ada, whose region works
//	8f7c2a10-5f1e-4f43-9d0c-000000000002  her region's MCP server ends every connection: 502, empty
//	8f7c2a10-5f1e-4f43-9d0c-000000000003  no MCP server is configured for his region: 500, empty
//	8f7c2a10-5f1e-4f43-9d0c-000000000004  a proxy on the way loses Provider-User-Id: a tool error
//	8f7c2a10-5f1e-4f43-9d0c-000000000005  another developer's user: 404, invalid user id
//	8f7c2a10-5f1e-4f43-9d0c-000000000006  the directory of users cannot be read: 500, something went wrong
//	8f7c2a10-5f1e-4f43-9d0c-000000000007  his region's MCP server never answers: a tool error; for
//	                                      other requests, 502, empty
//	8f7c2a10-5f1e-4f43-9d0c-000000000008  a proxy before his region's MCP server answers 502: 502, empty
//	8f7c2a10-5f1e-4f43-9d0c-00000000000a  her region's MCP server answers 503: 502, empty
//	alice                                 not a UUID: 404, invalid user id
//
// Other credentials, or none, are 401, and a path without a user is 404. The queries that fail are among
// those of [System.Scenes]. On stdio there is no request: tools answer "request context is unavailable",
// unless Options.Client names the caller.
package terra
