// Package openapi makes tools of the operations that an OpenAPI description (3.0 or 3.1) lists.
//
// [Compile] reads a description and returns an [API]: a [Tool] for each operation that a [Route]
// offers. [Tool.Request] turns the arguments of a call into an HTTP request. Nothing here sends
// anything, but for [Fetch].
//
//	read.go      the text: JSON or YAML, and how much of it is taken
//	document.go  its parts, and where a $ref leads
//	routes.go    which operations are offered
//	names.go     what the tools are called
//	params.go    the parameters of an operation, and its body (body.go)
//	schema.go    what a tool takes, as JSON Schema of draft 2020-12
//	compile.go   joins these to tools
//	request.go   a call as a request; style.go spells its values
//
// A description may be hostile: its size, depth, operations and references are bounded, and what is
// not offered is not looked into. The document is not kept.
package openapi
