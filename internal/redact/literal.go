package redact

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/secret"
)

// minLiteral is the length in bytes of the shortest secret that is looked for as it
// is spelled; a shorter one is part of too many words.
const minLiteral = 4

// Environ returns what is secret in an environment, whose variables have the form
// NAME=value: the values that their names or their own form say it of.
func Environ(environ []string) []string {
	var secrets []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if secret.Name(name) || Log(value) != value {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// Hiding returns a Masker that in addition masks these secrets wherever they stand,
// in each mode but [Off]; of one with several lines, each of them. Those of less than
// 4 bytes are passed over.
func (m *Masker) Hiding(secrets []string) *Masker {
	hiding := *m
	hiding.literals = slices.Clone(m.literals)
	for _, s := range secrets {
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) >= minLiteral && !strings.Contains(markCredential, line) {
				hiding.literals = append(hiding.literals, line)
			}
		}
	}
	// One may be part of another.
	slices.SortFunc(hiding.literals, func(a, b string) int { return len(b) - len(a) })
	return &hiding
}

// hide masks the secrets that are known as they are spelled.
func (m *Masker) hide(s string) string {
	for _, literal := range m.literals {
		s = strings.ReplaceAll(s, literal, markCredential)
	}
	return s
}
