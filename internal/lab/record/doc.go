// Package record keeps a session between an MCP client and a server, and plays the server's side of it again.
//
//	client <-> Recorder (Lines on stdio, Transport over HTTP) <-> server
//	             |  each message as it comes, masked
//	             v
//	           the recording: JSON lines, one message a line
//	             |  Open: an index; the messages stay in the file
//	             v
//	client <-> Player (Stdio, or Handler over HTTP)
//
// A recording consists of sessions, each of which begins with a [first] line. The other lines are entries. What a server said
// belongs to what its client had said before: that is a cue, and to play is to wait for a cue and to say what belongs to it.
package record
