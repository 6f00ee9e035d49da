package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/internal/privacy/secret"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

const (
	// minLiteral is the length in bytes of the shortest secret that is searched for literally. A shorter one is part of
	// too many words.
	minLiteral = 4
	// minCut is the length of the shortest beginning of a secret that counts as the secret. It must be at least half of
	// it.
	minCut = 12
	// minSpelled is the length of the shortest secret that is searched for in encodings.
	minSpelled = 6
)

// A literal is a text that is searched for literally.
type literal struct {
	text string
	cut  bool // its beginning counts, too
}

// Environ returns the secrets in an environment, whose variables have the form NAME=value: values with a telling name
// or form. PWD is not one: it is the working directory (POSIX.1-2024, section 8.3), whose files are mentioned in
// messages.
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

// Headers returns the secrets in headers that an operator has set: all values except short ones, and media types and
// plain words under a name that does not suggest a secret.
func Headers(headers map[string]string) []string {
	var secrets []string
	for name, value := range headers {
		if secret.Name(name) || secret.Weak(name) || len(value) >= minSpelled && !isPlainWord(value) {
			secrets = append(secrets, value)
		}
	}
	slices.Sort(secrets)
	return secrets
}

// isPlainWord reports whether a value is a word, a number or a media type.
func isPlainWord(value string) bool {
	main, _, _ := strings.Cut(value, ";")
	return strings.Trim(main, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/+.*-, ") == "" || strings.Trim(value,
		"0123456789.") == ""
}

// URL returns the secrets in a URL that an operator has written: user and password, and those path segments and query
// values that look like secrets or are named like them.
func URL(text string) []string {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	var secrets []string
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, password)
		if password == "" {
			secrets = append(secrets, u.User.Username())
		}
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if len(segment) >= 16 && random(segment) {
			secrets = append(secrets, segment)
		}
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if secret.Name(name) || secret.Weak(name) || len(value) >= 16 && random(value) {
				secrets = append(secrets, value)
			}
		}
	}
	slices.Sort(secrets)
	return secrets
}

// Command returns the secrets in the arguments of a program: values of options that are
// named like a secret, and words with a telling form.
func Command(args []string) []string {
	var secrets []string
	for i, arg := range args {
		name, value, both := strings.Cut(arg, "=")
		option := strings.HasPrefix(arg, "-") && secret.Name(strings.TrimLeft(name, "-"))
		switch {
		case both && (option || secret.Name(name)):
			secrets = append(secrets, value)
		case option && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			secrets = append(secrets, args[i+1])
		case Log(arg) != arg:
			secrets = append(secrets, arg)
		}
	}
	return secrets
}

// Arguments returns the secrets in the arguments of a call: values with a telling name.
func Arguments(raw []byte) []string {
	if len(raw) > maxKept {
		raw = raw[:maxKept]
	}
	dec := json.NewLenientDecoder(bytes.NewReader(raw))
	var secrets []string
	hidden := -1 // the depth of the value of such a name
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return secrets
		}
		depth := dec.StackDepth()
		container, n := dec.StackIndex(depth)
		switch kind := token.Kind(); {
		case kind == '"' && container == '{' && n%2 == 1 && (hidden < 0 || depth <= hidden):
			hidden = -1
			if secret.Name(token.String()) {
				hidden = depth
			}
		case (kind == '"' || kind == '0') && hidden >= 0 && depth >= hidden && (container != '{' || n%2 == 0):
			secrets = append(secrets, token.String())
		case depth < hidden:
			hidden = -1
		}
	}
}

// partsOf returns a secret and those of its parts that are secret by themselves: its lines, credentials after a scheme,
// the password of a URL, the values of pairs.
func partsOf(s string) []string {
	parts := []string{s}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != s {
			parts = append(parts, line)
		}
	}
	if scheme, rest, ok := strings.Cut(s, " "); ok && schemes[strings.ToLower(scheme)] {
		rest = strings.TrimSpace(rest)
		parts = append(parts, rest)
		if raw, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(raw), ":")
			parts = append(parts, string(raw), password)
		}
	}
	if strings.Contains(s, "://") {
		parts = append(parts, URL(s)...)
	}
	for _, p := range valuesOf(s, secret.Name) {
		parts = append(parts, s[p.start:p.end])
	}
	if strings.Contains(s, "=") { // cookies
		for pair := range strings.SplitSeq(s, ";") {
			if _, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && len(value) >= 8 && random(value) {
				parts = append(parts, value)
			}
		}
	}
	return parts
}

// Hiding returns a Masker that also masks these secrets wherever they occur, in each mode but [Off]: as they are, in
// parts that are secret by themselves, in the encodings that programs use, and cut off after their first half. Secrets
// of less than 4 bytes are ignored. secrets is called once, when there is a text to mask.
func (m *Masker) Hiding(secrets func() []string) *Masker {
	hiding := *m
	hiding.literals = sync.OnceValue(func() *literals {
		const each = 10 // spellings
		secrets := secrets()
		list := append(make([]literal, 0, each*len(secrets)), m.known().list...)
		seen := make(map[string]bool, len(secrets))
		for _, s := range secrets {
			for _, part := range partsOf(s) {
				part = strings.TrimSpace(part)
				if len(part) < minLiteral || seen[part] || strings.Contains(markCredential, part) {
					continue
				}
				seen[part] = true
				list = appendSpellings(list, part)
			}
		}
		return indexed(list)
	})
	return &hiding
}

// appendSpellings adds a secret as it is, reversed, and in those encodings that are not found by decoding a whole text:
// base64 at each of its three alignments, and hexadecimal. Views find percent-encoding and escapes.
func appendSpellings(list []literal, s string) []literal {
	first := len(list)
	list = append(list, literal{s, len(s) >= minCut})
	if len(s) < minSpelled {
		return list
	}
	add := func(text string) {
		if len(text) >= minSpelled && !slices.Contains(list[first:], literal{text, false}) {
			list = append(list, literal{text, false})
		}
	}
	reversed := []rune(s)
	slices.Reverse(reversed)
	add(string(reversed))
	if strings.Contains(s, " ") { // in a query a plus sign means a space
		add(url.QueryEscape(s))
	}
	lower := hex.EncodeToString([]byte(s))
	add(lower)
	add(strings.ToUpper(lower))
	for place := range 3 {
		// The characters at the ends also contain bits of what is next to the secret.
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, place), s...))
		text = text[(8*place+5)/6 : 8*(place+len(s))/6]
		add(text)
		add(forURLs.Replace(text))
	}
	return list
}

// forURLs converts base64 to its alphabet for URLs.
var forURLs = strings.NewReplacer("+", "-", "/", "_")
