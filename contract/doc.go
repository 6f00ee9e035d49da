// Package contract implements error contracts. A contract is data that says how a server fails.
//
// A contract is a YAML file that lists codes. For each code it says which records of package recourse get it,
// whether the same call may be repeated, what to advise, and what it looks like in HTTP and JSON-RPC. For all
// codes together it says where in a tool result a failure appears, and how the members of the wire object map
// to the record. From this one file, a [Contract] chooses the code for a record and writes it
// ([Contract.Write]); a [Reader] uses the same file to read what servers send.
//
//	answer --Reader--> *recourse.Error --Contract.Write--> Answer
//	                                         ^
//	          YAML --Set.Load--> Contract ---+
//
// [Builtin] returns the built-in contracts; [Default] is used if none is named. docs/contracts/README.md
// describes the file format.
//
// # Writing
//
// Every record has a code in every contract, so Write cannot fail. A record that is already in the contract's
// own words keeps its code: the author's choice wins. Otherwise the first entry whose `for` selects the
// record is used, or else the `default` entry.
//
// [Answer.Surface] says what was written: a tool result, a JSON-RPC error, or a whole HTTP answer. The record
// itself travels along, in _meta or in the error's data, in the JSON form of package recourse: waits in whole
// milliseconds, times in RFC 3339.
//
// A question ([recourse.NeedsInput]) is not a failure and has no code; [Contract.Ask] writes it.
//
// # Reading
//
// Sure signs of a failure are always read: a record in _meta, an HTTP status of 400 or more, a JSON-RPC
// error, isError, a result.error with code and message, and the kinds toolError:v1 and needsInput:v1. Weak
// signs, such as {"success":false} in an answer that otherwise reports success, count only for the contract
// that the server is known to follow ([Reader.Weak]). A server is believed about the origin and the effect of
// a failure only if it is trusted ([Reader.Trusted]).
//
// Contracts and readers are safe for concurrent use.
package contract

// For whoever works on this package, its files:
//
//	a contract    set.go holds them, contract.go is one. compile.go makes it from its file, and lint.go reports
//	              what is wrong with that; describe.go gives it back as data. codes.go has the entries.
//	the language  internal/language has texts with placeholders, and the paths by which these name members of the
//	              record; subject.go is the record that is looked at, with what follows from it. selector.go says
//	              which records an entry is for. shape.go is an object, forms.go an HTTP answer or a JSON-RPC
//	              error, layout.go the place of a failure in a result, codec.go the syntax of a failure in a text.
//	writing       call.go says what is known of a call. write.go chooses the entry (choose.go), adds what it
//	              advises (hints.go, verify.go) in the client's names for tools (internal/prose), and makes it
//	              safe to send (internal/clean). question.go writes questions; internal/settle judges the answer
//	              of a verify call.
//	reading       read.go reads results, readhttp.go HTTP answers. answer.go has the parts of a result, draft.go
//	              the record so far, and trust.go what a server is believed about. What is in no contract's form
//	              is handed by wild.go to internal/wild.
