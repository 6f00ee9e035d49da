// Package openapi turns the operations in an OpenAPI description (3.0 or 3.1) into tools.
//
// [Compile] reads a description and returns an [API]: an [Offer] for each operation that a [Route]
// offers. [Offer.Request] turns the arguments of a call into an HTTP request. Only [Fetch] sends
// anything.
//
//	read.go      the text: JSON or YAML, and its limits
//	document.go  its parts, and the target of a $ref
//	routes.go    which operations are offered
//	names.go     what the tools are called
//	params.go    the parameters of an operation, and its body (body.go)
//	schema.go    the input of a tool, as JSON Schema draft 2020-12
//	compile.go   combines these into tools
//	request.go   a call as a request; style.go spells its values
//
// A description may be hostile: its size, depth, operations and references are limited, and what is not
// offered is not examined. The document is not kept.
package openapi
