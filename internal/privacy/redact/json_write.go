package redact

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// write returns the text with its leaves masked.
func (r *reader) write(layer int) string {
	if len(r.leaves) == 0 {
		return r.raw
	}
	masked := r.masked(layer)
	var out []byte // nil until something differs
	done := 0
	for i, l := range r.leaves {
		if l.start < done || masked[i] == l.text && l.mark == "" || l.array < 0 && l.mark == "" {
			continue
		}
		out = append(out, r.raw[done:l.start]...)
		out = json.AppendQuote(out, masked[i])
		done = l.end
	}
	if out == nil {
		return r.raw
	}
	return string(append(out, r.raw[done:]...))
}

// masked returns the leaves as they are written.
func (r *reader) masked(layer int) []string {
	m, texts := r.m, make([]string, len(r.leaves))
	names := map[string]bool{}
	for i := range r.leaves {
		texts[i] = r.leaves[i].text
	}
	for _, group := range r.groups() { // before parts of a secret that crosses texts are masked
		m.across(texts, group)
	}
	for i := range r.leaves {
		l, text := &r.leaves[i], texts[i]
		switch {
		case l.mark != "":
			texts[i] = l.mark
			continue
		case l.array < 0:
			texts[i] = l.text
			continue
		case l.plain:
			texts[i] = mask(l.text, markCredential, m.spelledOut(l.text))
		case l.blob:
			texts[i] = m.blob(text, layer)
		default:
			texts[i] = m.text(text, layer)
		}
		if l.name && texts[i] != l.text { // no two members may have the same name
			for n := 2; names[texts[i]]; n++ {
				texts[i] = strings.TrimRight(texts[i], " 0123456789") + " " + strconv.Itoa(n)
			}
			names[texts[i]] = true
		}
	}
	return texts
}

// groups returns the leaves that are shown of each array.
func (r *reader) groups() [][]int {
	if r.arrays == 0 {
		return nil
	}
	sizes := make([]int, r.arrays+1)
	isShown := func(l *leaf) bool { return l.array > 0 && l.mark == "" && !l.plain }
	for i := range r.leaves {
		if l := &r.leaves[i]; isShown(l) {
			sizes[l.array]++
		}
	}
	all, groups := make([]int, len(r.leaves)), make([][]int, r.arrays+1)
	for array, size := range sizes {
		groups[array], all = all[:0:size], all[size:]
	}
	for i := range r.leaves {
		if l := &r.leaves[i]; isShown(l) {
			groups[l.array] = append(groups[l.array], i)
		}
	}
	return groups
}

// blob masks text in base64. Anything else stays, unless a secret is visible in it.
func (m *Masker) blob(text string, layer int) string {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return m.text(text, layer)
	}
	if !isText(string(raw)) {
		if m.hasLiteral(string(raw)) || len(formed(string(raw))) > 0 {
			return base64.StdEncoding.EncodeToString([]byte(markCredential))
		}
		return text
	}
	if masked := m.text(string(raw), layer+1); masked != string(raw) {
		return base64.StdEncoding.EncodeToString([]byte(masked))
	}
	return text
}
