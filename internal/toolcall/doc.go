// Package toolcall holds what is true of one call of a tool, whoever carries it out: the
// gateway for a server behind it, or package mcptool for the handler of an author.
//
//   - What the server's list says of the tool: [Tool], [List].
//   - Whether the call can run at all: [Listed]. Nothing is refused on the word of a list
//     before it was fetched anew.
//   - What the tool does to the world: [Said].
//   - What a failed call has done, and how its record is completed: [Call].
//
// What is different between the two, and why:
//
//   - Who is believed. Authors speak about their own server, and are believed about effect and
//     verify. The gateway passes on what another program says: unless its entry is trusted, an
//     effect has to be stated by the protocol, and a verify call has to name a tool that is
//     known to read. See [Call.Trusted].
//   - Annotations are the author's own in mcptool. The gateway goes by them where the entry
//     says so.
//   - Whose request id wins. The gateway's, since all logs on the way have that one; the other
//     program's becomes a detail. An author's record keeps the id that its author gave it.
//     See [Call.Relays].
//   - Who has failed. The gateway knows by the way in which a failure came to it, and says so
//     where it finds it; mcptool tells by the kind of a record that does not say.
//   - What is masked. All that another program says; of an author's own record what the
//     contract keeps out of failures.
//   - Whose list it is. An author's server has one. The gateway's may be that of another caller,
//     or too long to be read whole: then it is no reason to refuse a call.
//   - Numbers. An author's handler takes int64 and float64. What another program takes is not
//     known. See [Tool.Native].
package toolcall
