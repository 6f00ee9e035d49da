package gateway

import "time"

// SetPatience sets how long clients may take to receive a piece of an answer, in general and while the gateway ends.
func SetPatience(g *Gateway, writing, ending time.Duration) {
	g.http.Writing, g.http.Ending = writing, ending
}

// ForgetSessions makes the gateway forget the sessions of the server at path, as after
// a day without a request.
func ForgetSessions(g *Gateway, path string) {
	g.table.Load().endpoints[path].backend.Sessions.Clear()
}

// SessionBytes returns how many sessions the server at path has, and how many bytes they take.
func SessionBytes(g *Gateway, path string) (sessions, bytes int) {
	return g.table.Load().endpoints[path].backend.Sessions.Kept()
}

// InFlight returns how many bytes the requests under way hold.
func InFlight(g *Gateway) int64 { return g.inFlight.Bytes() }
