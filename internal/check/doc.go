// Package check grades how an MCP server fails.
//
// It makes calls of which each has one thing to show, keeps what was sent and what came back, and judges that by rules.
//
//	server.Server         a program, or an endpoint over HTTP
//	  |  plan             which calls a mode allows: a list of steps, which --dry-run prints
//	  |  runner           takes them one at a time, and stops where the server asks to wait
//	transcript            what it says of its tools, and every exchange
//	  |  judge            a function for each rule of rules.yaml: what was kept, what was broken, where
//	Report                findings with their evidence, and a grade
//	  |                   (as text, JSON, SARIF, JUnit, HTML, Markdown)
//	a person, or CI
//
// Judging is a pure function of the transcript. A rule for which nothing was seen is "not observed", and never kept.
package check
