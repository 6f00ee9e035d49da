package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// The tools of the shop.
const (
	toolRead  = "get-orders"
	toolWrite = "create-sales-order"
)

// latency is how long the shop takes to answer.
const latency = 50 * time.Millisecond

// A shop is the server. Every order that is read exists and is shipped; created orders are counted.
type shop struct {
	world *world
	clock *clock

	created map[string]int
	spans   map[*trouble]limitSpan
}

// A limitSpan counts the answers in one span of a limit.
type limitSpan struct {
	number int64
	calls  int
}

// A shopAnswer is the result of a call to the shop, or an explicit fault.
type shopAnswer struct {
	result json.RawMessage
	fault  *trouble
	wait   time.Duration // stated
}

// call carries out a call, unless a fault of the world prevents it.
func (s *shop) call(c toolCall) shopAnswer {
	s.clock.until(s.clock.now.Add(latency))
	writes := c.Name == toolWrite
	f, passes, wait := s.fault(writes)
	if f == nil {
		return shopAnswer{result: s.carryOut(c)}
	}
	s.clock.running.met(f, passes)
	if f.silent() {
		return shopAnswer{result: s.pretend(c, f)}
	}
	if f.After {
		s.carryOut(c)
	}
	return shopAnswer{fault: f, wait: wait}
}

// fault returns the fault that affects a call, when that passes, and the wait that the shop states.
func (s *shop) fault(writes bool) (befalls *trouble, passes time.Time, wait time.Duration) {
	now, chance := s.clock.now, s.clock.running.luck.random.Float64()
	for i := range s.world.Faults {
		f := &s.world.Faults[i]
		switch {
		case !f.meets(writes):
		case f.Window != nil:
			if end, open := f.Window.ends(now); open {
				return f, end, f.Wait
			}
		case f.Limit != nil:
			number := int64(now.Sub(epoch) / f.Limit.Per)
			if s.spans[f].number != number {
				s.spans[f] = limitSpan{number: number}
			}
			if s.spans[f].calls >= f.Limit.Calls {
				end := epoch.Add(time.Duration(number+1) * f.Limit.Per)
				return f, end, (end.Sub(now) + time.Second - 1).Truncate(time.Second)
			}
			s.spans[f] = limitSpan{number: number, calls: s.spans[f].calls + 1}
		case f.Lasting:
			if s.clock.running.luck.lasting[f] {
				return f, never, f.Wait
			}
		default:
			if chance -= f.Rate; chance < 0 {
				return f, now, f.Wait
			}
		}
	}
	return nil, now, 0
}

// carryOut does what a call asks for, and returns the result.
func (s *shop) carryOut(c toolCall) json.RawMessage {
	t := s.clock.running
	if c.Name == toolWrite {
		s.created[t.id]++
		return structured(fmt.Sprintf(`{"success":true,"id":%q}`, t.id))
	}
	if t.writes && s.created[t.id] == 0 {
		return structured(`{"items":[]}`)
	}
	return structured(fmt.Sprintf(`{"items":[{"externalId":%q,"status":%q}]}`, t.id, statusNow))
}

// The status of an order that is read, now and in an old copy.
const (
	statusNow   = "shipped"
	statusStale = "open"
)

// pretend returns the result that a silent fault shows.
func (s *shop) pretend(c toolCall, f *trouble) json.RawMessage {
	t := s.clock.running
	switch {
	case f.Fault == faultText || c.Name == toolWrite:
		return json.RawMessage(`{"content":[{"type":"text","text":"Error: the database did not answer"}]}`)
	case f.Fault == faultEmpty || t.writes: // a new order is missing in an old copy
		return structured(`{"items":[]}`)
	default:
		return structured(fmt.Sprintf(`{"items":[{"externalId":%q,"status":%q}]}`, t.id, statusStale))
	}
}

func structured(data string) json.RawMessage {
	return json.RawMessage(`{"content":[],"structuredContent":` + data + `}`)
}
