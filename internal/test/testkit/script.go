package testkit

// EveryMessage is the target of a fault for every message: see [Server.Always].
const EveryMessage = "*"

// script holds the faults of each target, in order.
type script struct {
	next   map[string][]Fault
	always map[string]Fault
}

// Next scripts faults for the next requests to target, one each, before any fault of Always. A target is the
// name of a tool, a JSON-RPC method other than tools/call ("initialize", "notifications/initialized"), or
// [EveryMessage]. A fault applies to a request that is a well-formed message of a known session; requests
// that are refused before that use up none.
func (s *Server) Next(target string, faults ...Fault) {
	s.update(func() {
		if s.script.next == nil {
			s.script.next = make(map[string][]Fault)
		}
		s.script.next[target] = append(s.script.next[target], faults...)
	})
}

// Always scripts a fault for all further requests to target; see [Server.Next] for targets.
func (s *Server) Always(target string, fault Fault) {
	s.update(func() {
		if s.script.always == nil {
			s.script.always = make(map[string]Fault)
		}
		s.script.always[target] = fault
	})
}

// Behave forgets every scripted fault.
func (s *Server) Behave() { s.update(func() { s.script = script{} }) }

// take returns the fault for a request to target and removes it if it is a one-off.
func (s *Server) take(target string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range []string{target, EveryMessage} {
		if queue := s.script.next[key]; len(queue) > 0 {
			s.script.next[key] = queue[1:]
			return queue[0], true
		}
	}
	for _, key := range []string{target, EveryMessage} {
		if fault, ok := s.script.always[key]; ok {
			return fault, true
		}
	}
	return Fault{}, false
}
