package gateway

// ForgetSessions makes the gateway forget the sessions of the server at path, as after
// a day without a request.
func ForgetSessions(g *Gateway, path string) {
	t := g.table.Load().servers[path].sessions
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.byID)
	t.byUse.Init()
}
