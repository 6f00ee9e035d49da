package redact

import (
	"slices"
	"strings"
)

// A finder finds one sort of text that is masked.
type finder struct {
	mark  string
	holds holds // it is only asked if a line may hold this; 0: always
	find  func(m *Masker, t *text, b *budget) []span
	on    func(m *Masker) bool // nil: in every mode
}

// near is how many lines around a line are examined with it, if something may be spread over them. It is more than a trace or a value has
// in between.
const near = 12

// in returns a finder that looks only at the lines that may hold something of a sort, with so many around them.
func in(of holds, around int, mark string, find func(m *Masker, s string, b *budget) []span) finder {
	return finder{mark: mark, holds: of, find: func(m *Masker, t *text, b *budget) []span {
		return within(t.s, t.parts(of, around), func(s string) []span { return find(m, s, b) })
	}}
}

// when returns a finder that is only asked if on is true.
func (f finder) when(on func(m *Masker) bool) finder {
	f.on = on
	return f
}

// within finds what is in parts of a text.
func within(s string, parts []span, find func(s string) []span) []span {
	var found []span
	for _, p := range parts {
		for _, q := range find(s[p.start:p.end]) {
			found = append(found, span{p.start + q.start, p.start + q.end})
		}
	}
	return found
}

func plainly(find func(string) []span) func(*Masker, string, *budget) []span {
	return func(_ *Masker, s string, _ *budget) []span { return find(s) }
}

// unknown leaves out the parts that the caller knows.
func unknown(find func(string) []span) func(*Masker, string, *budget) []span {
	return func(m *Masker, s string, b *budget) []span { return m.unknown(s, find(s), b) }
}

// foreign leaves out the parts that occur in the spared text.
func foreign(find func(string) []span) func(*Masker, string, *budget) []span {
	return func(m *Masker, s string, _ *budget) []span {
		return slices.DeleteFunc(find(s), func(p span) bool { return strings.Contains(m.spared, s[p.start:p.end]) })
	}
}

// outlined and detailed are the finders in the order in which they are tried: larger things before their parts. The lines are looked at
// before each of the two.
var (
	outlined = []finder{
		{mark: markCredential, find: func(m *Masker, t *text, _ *budget) []span { return m.spelledOut(t.s) }, on: hasLiterals},
		in(aKey, near, markCredential, plainly(privateKeys)),
		{mark: markTrace, holds: aFrame, find: func(_ *Masker, t *text, _ *budget) []span {
			return within(t.s, t.blocks(aFrame, near), traces)
		}, on: func(m *Masker) bool { return m.mode == All && !m.inside }},
	}
	detailed = []finder{
		in(aConnection, 0, markConnection, plainly(connections)),
		in(aName, 0, markCredential, plainly(named)),
		{mark: markCredential, holds: aMark | aHead, find: func(_ *Masker, t *text, _ *budget) []span {
			return append(within(t.s, t.parts(aMark, near), marked), tabled(t)...)
		}},
		in(aCommand, 0, markCredential, plainly(commanded)),
		in(aWriting, near, markCredential, plainly(written)),
		in(aWriting, near, markCredential, plainly(writtenNear)),
		in(anInsert, near, markCredential, plainly(inserted)),
		in(aPerson, 0, markPersonal, foreign(people)).when(func(m *Masker) bool { return m.personal }),
		{mark: markPersonal, find: func(m *Masker, t *text, _ *budget) []span { return m.peopleIn(t.s) }, on: knowsPeople},
		in(aToken, 0, markCredential, plainly(tokens)),
		in(anAddress, 0, markAddress, foreign(addresses)).when(func(m *Masker) bool { return m.addresses }),
		in(anAddress, 0, markAddress, unknown(addresses)).when(inAll),
		in(aPath, 0, markPath, unknown(paths)).when(inAll),
	}
)

func inAll(m *Masker) bool { return m.mode == All }

func hasLiterals(m *Masker) bool { return m.literals != nil }

func knowsPeople(m *Masker) bool { return len(m.people) > 0 }

// each calls visit with each finder that may find something in the lines of a text that have not been looked at, until it returns false.
func (m *Masker) each(t *text, visit func(f *finder) bool) {
	outline := m.outline(t.s)
	if outline.keys || outline.frames {
		t.look(outline.line)
	}
	if !m.ask(outlined, t, visit) {
		return
	}
	detail := m.detail(t.s)
	detail.nameless, detail.quiet, detail.isOver = t.nameless, t.quiet, t.isOver
	t.look(detail.line)
	m.ask(detailed, t, visit)
}

func (m *Masker) ask(finders []finder, t *text, visit func(f *finder) bool) bool {
	for i := range finders {
		f := &finders[i]
		if (f.holds == 0 || t.all&f.holds != 0) && (f.on == nil || f.on(m)) && !visit(f) {
			return false
		}
	}
	return true
}

// settled masks a text until nothing changes.
func (m *Masker) settled(t *text, layer int, b *budget) string {
	for range maxRounds {
		before := t.s
		m.once(t, layer, b)
		if t.s == before {
			break
		}
		t.onlyNearMarks()
	}
	return t.s
}

// once masks a text once, as it is written and as it is read.
func (m *Masker) once(t *text, layer int, b *budget) {
	began := b.begin()
	defer b.spend(began)
	t.isOver = func() bool { return b.isOver(began) }
	m.each(t, func(f *finder) bool {
		if t.isOver() {
			return false
		}
		t.mask(f.mark, f.find(m, t, b))
		return true
	})
	if t.isOver() {
		*t = text{s: notShown}
		return
	}
	t.replace(m.spelled(t, b))
	t.mask(markCredential, within(t.s, t.parts(anEncoding, 0), func(s string) []span { return m.encoded(s, layer) }))
}

// spelled finds what is in the views of the lines that spell something.
func (m *Masker) spelled(t *text, b *budget) []masked {
	var found []masked
	m = m.within()
	for _, p := range t.spellings() {
		v, ok := viewOf(t.s[p.start:p.end])
		if !ok {
			continue
		}
		for _, q := range m.inView(v, b) {
			found = append(found, masked{span{p.start + q.start, p.start + q.end}, q.mark})
		}
	}
	return found
}

// within returns a Masker for what a text spells, or for what is spread over several.
func (m *Masker) within() *Masker {
	inside := *m
	inside.inside = true
	return &inside
}

// inView finds what is in a view, where it stands in the original.
func (m *Masker) inView(v view, b *budget) []masked {
	var found []masked
	t := v.changed()
	m.each(t, func(f *finder) bool {
		for _, p := range f.find(m, t, b) {
			found = append(found, masked{v.original(p), f.mark})
		}
		return true
	})
	if deeper, ok := v.deeper(); ok && v.under == nil { // encoded twice
		found = append(found, m.inView(deeper, b)...)
	}
	return found
}
