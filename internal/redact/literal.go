package redact

import (
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/internal/secret"
)

// minLiteral is the length in bytes of the shortest secret that is looked for as it
// is spelled; a shorter one is part of too many words.
const minLiteral = 4

// Environ returns what is secret in an environment, whose variables have the form
// NAME=value: the values that their names or their own form say it of. PWD is the
// working directory (POSIX.1-2024, section 8.3), whose files are spoken of.
func Environ(environ []string) []string {
	var secrets []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		plain := name == "PWD" || value == "true" || value == "false"
		if !plain && (secret.Name(name) || Log(value) != value) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// Hiding returns a Masker that in addition masks these secrets wherever they stand,
// in each mode but [Off]; of one with several lines, each of them. Those of less than
// 4 bytes are passed over. It asks for them, once, when there is a text to mask.
func (m *Masker) Hiding(secrets func() []string) *Masker {
	hiding := *m
	hiding.literals = sync.OnceValue(func() []string {
		literals := slices.Clone(m.known())
		for _, s := range secrets() {
			for line := range strings.Lines(s) {
				if line = strings.TrimSpace(line); len(line) >= minLiteral && !strings.Contains(markCredential, line) {
					literals = append(literals, line)
				}
			}
		}
		// One may be part of another.
		slices.SortFunc(literals, func(a, b string) int { return len(b) - len(a) })
		return literals
	})
	return &hiding
}

// known returns the secrets that are known as they are spelled.
func (m *Masker) known() []string {
	if m.literals == nil {
		return nil
	}
	return m.literals()
}

// hide masks the secrets that are known as they are spelled.
func (m *Masker) hide(s string) string {
	for _, literal := range m.known() {
		s = strings.ReplaceAll(s, literal, markCredential)
	}
	return s
}
