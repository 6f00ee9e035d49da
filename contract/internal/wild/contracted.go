package wild

import (
	"slices"
	"strings"
)

// contractions are what people write for two words. Families in plain English list the two words only.
var contractions = []string{
	"cannot", "can't", "could not", "couldn't", "would not", "wouldn't", "will not", "won't", "must not", "mustn't",
	"should not", "shouldn't",
	"is not", "isn't", "are not", "aren't", "was not", "wasn't", "were not", "weren't", "has not", "hasn't", "have not", "haven't",
	"does not", "doesn't", "do not", "don't", "did not", "didn't", "there is", "there's", "you are", "you're",
}

// negated are the contractions behind which a text goes on that begins with "not".
var negated = []string{"isn't ", "aren't ", "wasn't ", "weren't ", "hasn't ", "haven't "}

var shorten, typeset = strings.NewReplacer(contractions...), strings.NewReplacer("'", "’")

// contracted returns the phrase in the other spellings that it has: with contractions, and these with a typographic apostrophe.
func (p *phrase) contracted() (others []*phrase) {
	if first := p.parts[0].literal; strings.HasPrefix(first, "not ") {
		for _, word := range negated {
			others = append(others, p.with(0, word+strings.TrimPrefix(first, "not ")))
		}
	}
	if short := p.spelled(shorten); short != nil {
		others = append(others, short)
	}
	for _, short := range others {
		others = append(others, short.spelled(typeset))
	}
	return others
}

// spelled returns the phrase in another spelling, which counts as much; nil if that is the same.
func (p *phrase) spelled(as *strings.Replacer) *phrase {
	other := p
	for i, part := range p.parts {
		if literal := as.Replace(part.literal); literal != part.literal {
			other = other.with(i, literal)
		}
	}
	if other == p {
		return nil
	}
	return other
}

// with returns the phrase with another literal.
func (p *phrase) with(i int, literal string) *phrase {
	other := *p
	other.parts = slices.Clone(p.parts)
	other.parts[i].literal = literal
	return &other
}
