package contract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/nearest"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// alternatives reads hints: a text, {for, text}, or a list of both.
func (k *compiler) alternatives(n *strictyaml.Node) []alternative {
	var list []alternative
	for _, item := range items(n) {
		a := alternative{}
		text := item
		if item.Kind() == strictyaml.KindMapping {
			var form struct {
				For  *strictyaml.Node `yaml:"for,required"`
				Text *strictyaml.Node `yaml:"text,required"`
			}
			if item.Decode(&form) != nil {
				continue
			}
			a.when, text = k.selector(form.For), form.Text
		}
		a.text = k.template(text)
		k.hintTexts = append(k.hintTexts, hintText{text, a.text.src})
		list = append(list, a)
	}
	return list
}

// A hintText is a hint with the place where it is written.
type hintText struct {
	at   *strictyaml.Node
	text string
}

// lintHintTools reports a tool that no hint names, and a word in a hint that is
// nearly one: both are spelling mistakes, and the hint would be written where the
// server does not have the tool.
func (k *compiler) lintHintTools() {
	tools := k.c.tools()
	for i, tool := range k.file.HintTools {
		inherited := k.parent != nil && slices.Contains(k.parent.hintTools, tool)
		if !inherited && !k.namesTool(tool) {
			k.mistakef(k.file.Node.Get("hint_tools").Item(i), "remove it, or correct its name", "no hint names the tool %s", tool)
		}
	}
	for _, h := range k.hintTexts {
		for word := range strings.FieldsFuncSeq(notTools.ReplaceAllString(h.text, " "), func(r rune) bool { return !isWordRune(r) }) {
			if !strings.Contains(word, "_") || slices.Contains(tools, word) {
				continue
			}
			if near, ok := nearest.Of(word, tools); ok {
				k.mistakef(h.at, "did you mean `"+near+"`?", "%s is not among `hint_tools`", word)
			}
		}
	}
}

// notTools are the words in a hint that are no tools: placeholders, and parameters
// in front of their values.
var notTools = regexp.MustCompile(`\{[^{}]*\}|[A-Za-z0-9_-]+=`)

func (k *compiler) namesTool(tool string) bool {
	return slices.ContainsFunc(k.hintTexts, func(h hintText) bool { return mentions(h.text, tool) }) ||
		slices.Contains(k.c.verifyTools(), tool) ||
		k.parent != nil && k.parent.mentions(tool)
}

// mentions reports whether a hint of c names a tool.
func (c *Contract) mentions(tool string) bool {
	named := func(list []alternative) bool {
		return slices.ContainsFunc(list, func(a alternative) bool { return mentions(a.text.src, tool) })
	}
	return named(c.hints) || slices.ContainsFunc(c.codes, func(en *entry) bool { return named(en.hints) })
}

// tools returns the tools that hints may name: those of `hint_tools`, and those that
// verify calls use.
func (c *Contract) tools() []string {
	tools := slices.Concat(c.hintTools, c.verifyTools())
	slices.Sort(tools)
	return slices.Compact(tools)
}

func (c *Contract) verifyTools() []string {
	tools := make([]string, 0, len(c.verify))
	for _, rule := range c.verify {
		tools = append(tools, rule.call)
	}
	return tools
}

// bindTools notes for each hint the tools that it names. What comes from another
// contract is copied, since the list may have grown.
func (c *Contract) bindTools() {
	tools := c.tools()
	bound := func(list []alternative) []alternative {
		list = slices.Clone(list)
		for i := range list {
			list[i].tools = slices.DeleteFunc(slices.Clone(tools), func(tool string) bool { return !mentions(list[i].text.src, tool) })
		}
		return list
	}
	c.hints = bound(c.hints)
	for i, en := range c.codes {
		own := *en
		own.hints = bound(en.hints)
		c.codes[i] = &own
		for code, other := range c.byCode {
			if other == en {
				c.byCode[code] = &own
			}
		}
		if c.fallback == en {
			c.fallback = &own
		}
		if c.open == en {
			c.open = &own
		}
	}
}

// mentions reports whether a text names a tool.
func mentions(text, tool string) bool {
	for rest := text; ; {
		i := strings.Index(rest, tool)
		if i < 0 || tool == "" {
			return false
		}
		before, after := rest[:i], rest[i+len(tool):]
		if (before == "" || !isWordByte(before[len(before)-1])) && (after == "" || !isWordByte(after[0])) {
			return true
		}
		rest = after
	}
}

func isWordRune(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'
}

func isWordByte(b byte) bool {
	return isWordRune(rune(b))
}
