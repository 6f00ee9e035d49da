// Package toolcall holds what is the same for every call of a tool, both in the gateway, for a server behind
// it, and in package mcptool, for an author's handler.
//
//	a call of a tool
//	  |  Listed.Find    is there such a tool: a Tool is its entry in the server's list
//	  |  Listed.Check   do the arguments fit; a call is refused only by a list that was just fetched
//	  |  Said.Nature    what does the tool do to the world
//	  v
//	the gateway sends it, or mcptool runs its handler
//	  |                 a success is unchanged
//	  v
//	a failure
//	  |  Call.Settle    the call's effect, how to verify it, what is masked
//	  v
//	contract.Contract.Write
//
// The differences between the two, and the reasons:
//
//   - Who is trusted. Authors speak about their own server, and are trusted about effect and
//     verify. The gateway passes on what another program says: unless its entry is trusted, an
//     effect has to be stated by the protocol, and a verify call has to name a tool that is
//     known to read. See [Call.Trusted].
//   - Annotations are the author's own in mcptool. The gateway uses them if the entry says so.
//   - Which request id is used. The gateway's, since all logs on the way have it; the other
//     program's becomes a detail. An author's record keeps the id that its author gave it.
//     See [Call.Relays].
//   - Who has failed. The gateway knows this from the way in which it got the failure, and says
//     so there; mcptool derives it from the kind of a record that does not say.
//   - What is masked. Everything that another program says; in an author's own record, what the
//     contract keeps out of failures.
//   - Which list it is. An author's server has one. The gateway's may be another caller's, or
//     too long to be read in full: then it is no reason to refuse a call.
//   - When a limit's charge is given back. The gateway does so if the call was never sent, or the caller was
//     wrong, by the server's own word as well: limits protect that server. A Guard does so only for a call
//     that did not get as far as its handler.
//   - Headers that mirror arguments are checked by the gateway. An author's server gets what a gateway or
//     client sends it, and its SDK decides.
//   - The order of the checks. Between an unknown tool and its arguments, the gateway asks whether the caller
//     may call it. Authors ask in their handlers.
//   - What a call wrote before it failed is known in mcptool only, which sees each request of a handler to
//     its backend. See [Call.Wrote].
//   - Numbers. An author's handler takes int64 and float64. What another program takes is
//     unknown. See [Entry.Native].
package toolcall
