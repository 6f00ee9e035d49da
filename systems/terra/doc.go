// Package terra is a reference system for the contract terra: the health data of the
// users of an application, behind an HTTP gateway.
//
// The gateway is [mcptool.Guard] in front of a reverse proxy. It checks dev-id and
// x-api-key and the user that the path names, and passes the request on to the MCP
// server of the user's region, which is told the user in Provider-User-Id. There,
// six tools take a query, which names fields or aggregates them, where a condition
// holds. A query that cannot be carried out fails with one of the sentences that
// the contract guarantees.
//
// # How to make it fail
//
// The credentials are dev-id [DevID] and x-api-key [APIKey]. A path
// /api/v2/mcp/USER with one of these users meets what is said of them:
//
//	8f7c2a10-5f1e-4f43-9d0c-000000000001  Ada, whose region works
//	8f7c2a10-5f1e-4f43-9d0c-000000000002  her region's MCP server ends every connection: 502, empty
//	8f7c2a10-5f1e-4f43-9d0c-000000000003  no MCP server is configured for his region: 500, empty
//	8f7c2a10-5f1e-4f43-9d0c-000000000004  a proxy on the way loses Provider-User-Id: a tool error
//	8f7c2a10-5f1e-4f43-9d0c-000000000005  another developer's user: 404, invalid user id
//	8f7c2a10-5f1e-4f43-9d0c-000000000006  the directory of users cannot be read: 500, something went wrong
//	8f7c2a10-5f1e-4f43-9d0c-000000000007  his region's MCP server never answers: a tool error; of
//	                                      what is no call of a tool, 502, empty
//	8f7c2a10-5f1e-4f43-9d0c-000000000008  what stands before his region's MCP server answers 502: 502, empty
//	8f7c2a10-5f1e-4f43-9d0c-00000000000a  her region's MCP server answers 503: 502, empty
//	alice                                 no UUID: 404, invalid user id
//
// Other credentials, or none, are 401, and no user in the path is 404. The queries
// that fail are among those of [System.Scenes]. On stdio there is no request: tools answer
// "request context is unavailable", unless Options.Client says who is there.
package terra
