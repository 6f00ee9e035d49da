package strictyaml

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// checkTokens refuses a file that is too large or too deep before the parser, which is recursive, sees it.
func (d *Document) checkTokens(tokens token.Tokens) *Error {
	if len(tokens) > maxTokens {
		return d.fault(Pos{}, "make it smaller or split it", "the file has more than %d words and signs", maxTokens)
	}
	var blocks []int // columns of the open block collections
	flow := 0        // open flow collections
	var before *token.Token
	for i, tk := range tokens {
		if tk.Type == token.AnchorType && i > 1 && tokens[i-2].Type == token.AnchorType {
			// The parser takes quadratic time for them.
			return d.fault(tokenPos(tk), "keep one of the anchors", "a value has two anchors")
		}
		switch tk.Type { //nolint:exhaustive // only brackets count
		case token.CommentType:
			continue
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		opens := before == nil || before.Position.Line != tk.Position.Line ||
			before.Type == token.SequenceEntryType || before.Type == token.MappingKeyType
		if flow == 0 && opens {
			for len(blocks) > 0 && blocks[len(blocks)-1] >= tk.Position.Column {
				blocks = blocks[:len(blocks)-1]
			}
			blocks = append(blocks, tk.Position.Column)
		}
		if len(blocks)+flow > maxDepth {
			return d.tooDeep(tokenPos(tk))
		}
		before = tk
	}
	return nil
}

func (d *Document) tooDeep(at Pos) *Error {
	return d.fault(at, "", "nested more than %d levels deep", maxDepth)
}

// correct corrects the positions of tokens, since the scanner counts columns wrong after a tab: a token is where its
// text is, after the token before it.
func (d *Document) correct(tokens token.Tokens) {
	cursor := d.start()
	for i, tk := range tokens {
		text, _, _ := strings.Cut(strings.TrimLeft(tk.Origin, " \t\n"), "\n")
		text = strings.TrimRight(text, " \t")
		if text == "" || i > 0 && isBlockScalar(tokens[i-1]) {
			continue
		}
		at := tokenPos(tk)
		if !d.standsAt(text, at) {
			found, ok := d.find(text, cursor, at.Line)
			if !ok {
				continue
			}
			at = found
			tk.Position.Line, tk.Position.Column = at.Line, at.Column
		}
		cursor = Pos{Line: at.Line, Column: at.Column + utf8.RuneCountInString(text)}
	}
}

// standsAt reports whether text, of one line, is at a position in the source.
func (d *Document) standsAt(text string, at Pos) bool {
	if at.Line < 1 || at.Line > len(d.lines) || at.Column < 1 || at.Column > len(d.lines[at.Line-1]) {
		return false
	}
	return strings.HasPrefix(string(d.lines[at.Line-1][at.Column-1:]), text)
}

// find returns the first position of text, of one line, between from and the end of lastLine.
func (d *Document) find(text string, from Pos, lastLine int) (Pos, bool) {
	for l := max(from.Line, 1); l <= min(lastLine, len(d.lines)); l++ {
		skip := 0
		if l == from.Line {
			skip = min(max(from.Column-1, 0), len(d.lines[l-1]))
		}
		before, _, found := strings.Cut(string(d.lines[l-1][skip:]), text)
		if found {
			return Pos{Line: l, Column: skip + utf8.RuneCountInString(before) + 1}, true
		}
	}
	return Pos{}, false
}

// measure notes where each token ends, for carets and for the masking of secrets.
func (d *Document) measure(tokens token.Tokens) {
	for i, tk := range tokens {
		next := i + 1
		if isBlockScalar(tk) {
			next++ // the text of a block scalar is a separate token
		}
		end := Pos{Line: len(d.lines) + 1, Column: 1}
		if next < len(tokens) {
			end = tokenPos(tokens[next])
		}
		d.ends[tokenPos(tk)] = end
	}
}

func isBlockScalar(tk *token.Token) bool {
	return tk.Type == token.LiteralType || tk.Type == token.FoldedType
}

func tokenPos(tk *token.Token) Pos {
	if tk == nil || tk.Position == nil {
		return Pos{}
	}
	return Pos{Line: tk.Position.Line, Column: tk.Position.Column}
}
