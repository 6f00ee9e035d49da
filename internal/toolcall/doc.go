// Package toolcall holds what is true of one call of a tool, whoever carries it out: the
// gateway for a server behind it, or package mcptool for the handler of an author.
//
//   - What the server's list says of the tool: [Tool], [List].
//   - Whether the call can run at all: [Listed]. Nothing is refused on the word of a list
//     before it was fetched anew.
//   - What the tool does to the world: [Said].
//   - What a failed call has done, and how its record is completed: [Call].
//
// Three differences between the two remain.
//
// Who is believed. An author speaks of the own server, and is believed on effect and verify.
// The gateway passes on what another program says: unless its entry is trusted, an effect
// has to be stated by the protocol, and a verify call has to name a tool that is known to
// read. See [Call.Trusted].
//
// Whose request id wins. The gateway's, since all logs on the way have that one: the
// server's becomes a detail. An author's record keeps the id that its author gave it.
// See [Call.Relays].
//
// Who has failed. The gateway knows by the way in which a failure came to it and says so
// where it finds it; mcptool tells by the kind of a record that does not say.
package toolcall
