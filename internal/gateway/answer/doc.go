// Package answer brings a server's answer to the client.
//
//	server --> Inbound --> Reply --> client
//	              |
//	              v
//	             End, with a Failure to be translated
//
// An [Inbound] reads the answer and knows what may be wrong with it. Pass passes it on, and finds out whether it is a
// failure (judge.go), also if it does not fit the decision window. Watch passes it on unchanged and only reports
// what it finds. A [Reply] alone has the client's writer.
package answer
