// Package console serves, on the admin listener, the pages on which an operator looks at a gateway.
//
// A page is a file with a handler, a template (*.templ) and a line in routes: see failures.go. A handler
// reads the request and returns a [view] or an error; [Console.page] puts the frame around both. `go test
// ./internal/ops/console/templates -update` regenerates the generated code.
//
// The rules that keep a page safe are in guard.go: a policy without inline scripts and styles, and no
// requests from other sites. Texts of servers and clients go through [shown], which makes invisible
// characters visible.
package console
