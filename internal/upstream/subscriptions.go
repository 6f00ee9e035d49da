package upstream

import (
	"maps"
	"slices"
	"strings"
)

// Subscriptions record which listeners are subscribed to which resources. The zero value is empty. They are
// not safe for concurrent use.
type Subscriptions[L comparable] struct {
	of      map[L]map[string]bool // URIs
	wanting map[string]int        // how many listeners want each URI
	bytes   int                   // of the URIs of all listeners
}

// Add records that a listener subscribes to a resource.
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

// Remove records that it unsubscribes.
func (s *Subscriptions[L]) Remove(who L, uri string) {
	if !s.Has(who, uri) {
		return
	}
	delete(s.of[who], uri)
	if len(s.of[who]) == 0 {
		delete(s.of, who)
	}
	s.bytes -= len(uri)
	if s.wanting[uri]--; s.wanting[uri] == 0 {
		delete(s.wanting, uri)
	}
}

// Drop removes a listener, and returns the resources that have no listener left.
func (s *Subscriptions[L]) Drop(who L) (orphaned []string) {
	for uri := range s.of[who] {
		s.Remove(who, uri)
		if !s.IsWanted(uri) {
			orphaned = append(orphaned, uri)
		}
	}
	return orphaned
}

// Has reports whether a listener has subscribed to exactly that resource.
func (s *Subscriptions[L]) Has(who L, uri string) bool { return s.of[who][uri] }

// Hears reports whether a listener has subscribed to a resource, or to one that contains it (MCP 2025-11-25,
// schema, ResourceUpdatedNotificationParams).
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

// IsWanted reports whether anybody has subscribed to the resource.
func (s *Subscriptions[L]) IsWanted(uri string) bool { return s.wanting[uri] > 0 }

// All returns the resources that anybody has subscribed to, sorted.
func (s *Subscriptions[L]) All() []string { return slices.Sorted(maps.Keys(s.wanting)) }

// Count returns how many resources a listener has subscribed to.
func (s *Subscriptions[L]) Count(who L) int { return len(s.of[who]) }

// Bytes returns the size of all listeners' URIs.
func (s *Subscriptions[L]) Bytes() int { return s.bytes }
