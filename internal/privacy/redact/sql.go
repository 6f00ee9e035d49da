package redact

import (
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// inserted finds the values of columns that are named like a secret, in an INSERT of SQL and in the parameters that stand beside
// one: INSERT INTO users (name, password) VALUES (?, ?) [parameters: ('bob', 'x')].
func inserted(s string) []span {
	var found []span
	insertWords.each(s, func(at int, word string) int {
		at += len(word)
		end := min(len(s), at+longestInsert)
		open := at + indexOr(s[at:end], "(;")
		names, next := tuple(s[:end], open)
		secrets := make([]bool, len(names))
		some := false
		for i, name := range names {
			secrets[i] = secret.Name(strings.Trim(s[name.start:name.end], " \t\r\n\"'`[]"))
			some = some || secrets[i]
		}
		if !some {
			return at
		}
		for next < end {
			values, after := tuple(s[:end], next+indexOr(s[next:end], "("))
			for i, value := range values {
				if i < len(secrets) && len(values) == len(secrets) && secrets[i] {
					found = append(found, literalIn(s, value)...)
				}
			}
			next = max(after, next+1)
		}
		return max(next, at)
	})
	return found
}

// longestInsert is how many bytes of a statement are examined.
const longestInsert = 4 << 10

var insertWords = newWords("insert into ", "replace into ", "insert ignore into ")

// tuple returns the parts of a list in brackets that begins at a position, and where it ends.
func tuple(s string, at int) (parts []span, end int) {
	if at >= len(s) || s[at] != '(' {
		return nil, len(s)
	}
	start, depth := at+1, 0
	for i := start; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' || c == '"' || c == '`':
			i += 1 + indexOr(s[i+1:], string(c))
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == ',' && depth == 0, c == ')':
			parts = append(parts, span{start, i})
			start = i + 1
			if c == ')' {
				return parts, i + 1
			}
		}
	}
	return nil, len(s)
}

// literalIn returns the text in quotes that a value of SQL is or contains.
func literalIn(s string, value span) []span {
	text := s[value.start:value.end]
	i := strings.IndexAny(text, "'\"")
	if i < 0 {
		return nil
	}
	inside := text[i+1:]
	size := strings.LastIndexByte(inside, text[i])
	if size <= 0 || isMark(inside) || saysNothing(inside[:size]) || isPlaceholder(inside[:size]) {
		return nil
	}
	return []span{{value.start + i + 1, value.start + i + 1 + size}}
}
