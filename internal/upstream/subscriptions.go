package upstream

import (
	"maps"
	"slices"
	"strings"
)

// Subscriptions record which listeners are subscribed to which resources. The zero Subscriptions
// are none. They are not safe for concurrent use.
type Subscriptions[L comparable] struct {
	of      map[L]map[string]bool // URIs
	wanting map[string]int        // listeners, by the URI
	bytes   int                   // of the URIs of all listeners
}

// Add notes that a listener wants to hear of a resource.
func (s *Subscriptions[L]) Add(who L, uri string) {
	if s.Has(who, uri) {
		return
	}
	if s.of == nil {
		s.of, s.wanting = map[L]map[string]bool{}, map[string]int{}
	}
	if s.of[who] == nil {
		s.of[who] = map[string]bool{}
	}
	s.of[who][uri] = true
	s.wanting[uri]++
	s.bytes += len(uri)
}

// Remove notes that it does not any more.
func (s *Subscriptions[L]) Remove(who L, uri string) {
	if !s.Has(who, uri) {
		return
	}
	if delete(s.of[who], uri); len(s.of[who]) == 0 {
		delete(s.of, who)
	}
	s.bytes -= len(uri)
	if s.wanting[uri]--; s.wanting[uri] == 0 {
		delete(s.wanting, uri)
	}
}

// Drop removes a listener, and returns the resources that have no listener left.
func (s *Subscriptions[L]) Drop(who L) (unwanted []string) {
	for uri := range s.of[who] {
		if s.Remove(who, uri); !s.IsWanted(uri) {
			unwanted = append(unwanted, uri)
		}
	}
	return unwanted
}

// Has reports whether a listener has asked for that very resource.
func (s *Subscriptions[L]) Has(who L, uri string) bool { return s.of[who][uri] }

// Hears reports whether a listener has asked for a resource, or for one that it is a part of
// (MCP 2025-11-25, schema, ResourceUpdatedNotificationParams).
func (s *Subscriptions[L]) Hears(who L, uri string) bool {
	if s.Has(who, uri) {
		return true
	}
	for whole := range s.of[who] {
		if rest, ok := strings.CutPrefix(uri, whole); ok && (strings.HasSuffix(whole, "/") || strings.ContainsAny(rest[:1], "/?#")) {
			return true
		}
	}
	return false
}

// IsWanted reports whether anybody has asked for the resource.
func (s *Subscriptions[L]) IsWanted(uri string) bool { return s.wanting[uri] > 0 }

// All returns the resources that anybody has asked for, sorted.
func (s *Subscriptions[L]) All() []string { return slices.Sorted(maps.Keys(s.wanting)) }

// Count returns how many resources a listener has asked for.
func (s *Subscriptions[L]) Count(who L) int { return len(s.of[who]) }

// Bytes returns what the URIs take that listeners have asked for.
func (s *Subscriptions[L]) Bytes() int { return s.bytes }
