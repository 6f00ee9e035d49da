// Package console serves the pages on which an operator looks at a gateway, on the admin listener.
//
// A page is a file with a handler, a template (*.templ) and a line in routes: see failures.go. A handler reads the request and
// returns a [view] or an error; [Console.page] puts the frame around either. Generated code is made anew by
// `go test ./internal/console/templates -update`.
//
// The rules that keep a page safe stand in guard.go: a policy without inline scripts and styles, and no request from other
// sites. Texts of servers and clients go through [shown], which makes visible what hides.
package console
