// Package contract holds contracts: data that says how a server fails, and the
// code that puts it into effect.
//
// A contract is a YAML file. It lists codes; for each it says which records of
// package recourse it stands for, whether the same call may be repeated, what to
// advise, and how it looks in HTTP and JSON-RPC. For all of them together it says
// where a failure stands in a tool result and which member of the wire object is
// which member of the record. From that one file a [Contract] chooses a code for
// any record, writes it ([Contract.Write]), and takes part in reading what servers
// send ([Reader]).
//
// The way of a failure: a server answers, a [Reader] makes a record of the answer in
// whatever contract's form it comes, and another contract writes the record:
//
//	answer --Reader--> *recourse.Error --Contract.Write--> Answer
//	                                         ^
//	          YAML --Set.Load--> Contract ---+
//
// # Choosing
//
// A record that is already in the contract's own words keeps its code: the
// author's word wins. Otherwise the first entry whose `for` selects the record is
// taken, else the entry that `default` names. So every record has a code.
//
// A question ([recourse.NeedsInput]) is no failure and has no code; [Contract.Ask]
// writes it.
//
// # Reading
//
// Sure signs of a failure are always read: our record in _meta, an HTTP status, a
// JSON-RPC error, isError, a result.error with code and message, and the kinds
// toolError:v1 and needsInput:v1. Weak signs, such as {"success":false} in an answer
// that says that it succeeded, count for the one contract that a server is known to
// keep. Nothing that a server sends is believed on the origin of a failure or its
// effect unless the server is trusted.
//
// Contracts and readers are safe for concurrent use.
package contract
