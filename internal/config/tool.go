package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/policy/glob"
)

type toolPattern struct {
	glob string
	tool Tool
}

// Tool returns a tool's settings: the entry with its name, else the one with the longest matching pattern
// (the first in the file if two have the same length), else only the server's timeout; with what the server's profile
// says. What it points to is shared and must not be changed. It does not allocate.
func (s *Server) Tool(name string) Tool {
	tool := s.entryOf(name)
	tool.Known = s.Known.Tool(name)
	return tool
}

func (s *Server) entryOf(name string) Tool {
	if tool, ok := s.exact[name]; ok {
		return tool
	}
	for i := range s.patterns {
		if glob.Match(s.patterns[i].glob, name) {
			return s.patterns[i].tool
		}
	}
	return Tool{Timeout: s.Timeout}
}

// compileTools prepares [Server.Tool].
func (s *Server) compileTools() {
	s.exact = make(map[string]Tool)
	for _, rule := range s.Tools {
		tool := rule.Value
		if tool.Timeout == 0 {
			tool.Timeout = s.Timeout
		}
		if strings.ContainsAny(rule.Key, "*?") {
			s.patterns = append(s.patterns, toolPattern{rule.Key, tool})
		} else {
			s.exact[rule.Key] = tool
		}
	}
	slices.SortStableFunc(s.patterns, func(a, b toolPattern) int { return cmp.Compare(len(b.glob), len(a.glob)) })
}
