package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// An enum is a text with few possible values.
type enum interface {
	strictyaml.Unmarshaler
	Words() []string
}

var (
	_ enum = (*ClientAuth)(nil)
	_ enum = (*Flow)(nil)
	_ enum = (*LogFormat)(nil)
	_ enum = (*LogLevel)(nil)
	_ enum = (*ErrorForm)(nil)
	_ enum = (*Mode)(nil)
	_ enum = (*Per)(nil)
	_ enum = (*Redact)(nil)
	_ enum = (*Share)(nil)
)

// Words returns all of them.
func (ClientAuth) Words() []string { return []string{string(ClientAuthHeader), string(ClientAuthBody)} }

// Words returns all of them.
func (Flow) Words() []string {
	return []string{
		string(FlowAuthorizationCode), string(FlowDeviceCode), string(FlowAPIKey), string(FlowClientCredentials),
		string(FlowTokenExchange),
	}
}

// Words returns all of them.
func (Per) Words() []string { return []string{string(PerCaller), string(PerOrganisation)} }

// Words returns all of them.
func (LogFormat) Words() []string { return []string{string(LogAuto), string(LogText), string(LogJSON)} }

// Words returns all of them.
func (LogLevel) Words() []string {
	return []string{string(LogDebug), string(LogInfo), string(LogWarn), string(LogError)}
}

// Words returns all of them.
func (ErrorForm) Words() []string { return []string{string(ErrorsResult), string(ErrorsProtocol)} }

// Words returns all of them.
func (Mode) Words() []string { return []string{string(ModeEnforce), string(ModeObserve)} }

// Words returns all of them.
func (Share) Words() []string { return []string{string(ShareAll), string(ShareClient)} }

// Words returns all of them.
func (Redact) Words() []string {
	return []string{string(RedactAll), string(RedactSecrets), string(RedactOff)}
}

// UnmarshalYAML reads header or body.
func (a *ClientAuth) UnmarshalYAML(n *strictyaml.Node) error { return word(n, a, a.Words()) }

// UnmarshalYAML reads one of the flows.
func (f *Flow) UnmarshalYAML(n *strictyaml.Node) error { return word(n, f, f.Words()) }

// UnmarshalYAML reads caller or organisation.
func (p *Per) UnmarshalYAML(n *strictyaml.Node) error { return word(n, p, p.Words()) }

// UnmarshalYAML reads one of the forms.
func (f *LogFormat) UnmarshalYAML(n *strictyaml.Node) error { return word(n, f, f.Words()) }

// UnmarshalYAML reads one of the levels.
func (l *LogLevel) UnmarshalYAML(n *strictyaml.Node) error { return word(n, l, l.Words()) }

// UnmarshalYAML reads one of the modes.
func (f *ErrorForm) UnmarshalYAML(n *strictyaml.Node) error { return word(n, f, f.Words()) }

// UnmarshalYAML accepts one of them.
func (m *Mode) UnmarshalYAML(n *strictyaml.Node) error { return word(n, m, m.Words()) }

// UnmarshalYAML reads off, secrets or all.
func (r *Redact) UnmarshalYAML(n *strictyaml.Node) error { return word(n, r, r.Words()) }

// UnmarshalYAML reads all or client.
func (s *Share) UnmarshalYAML(n *strictyaml.Node) error { return word(n, s, s.Words()) }

// Reads are the names of contracts and families, and family files.
type Reads []string

// Forms are those in which the names may stand.
func (*Reads) Forms() []any { return []any{reflect.TypeFor[string](), reflect.TypeFor[[]string]()} }

// UnmarshalYAML reads a list, or the only item of one.
func (r *Reads) UnmarshalYAML(n *strictyaml.Node) error {
	return oneOrMore(n, r, "a name or a list of names", "for example `reads: [aws, ./ours.yaml]`")
}

// oneOrMore reads a list of texts, or the only item of one.
func oneOrMore[T ~[]string](n *strictyaml.Node, target *T, expected, hint string) error {
	switch n.Kind() {
	case strictyaml.KindString:
		*target = T{n.Text()}
		return nil
	case strictyaml.KindSequence:
		var list []string
		err := n.Decode(&list)
		*target = list
		return err
	default:
		return n.Expected(expected, hint)
	}
}

func word[T ~string](n *strictyaml.Node, target *T, words []string) error {
	if n.Kind() == strictyaml.KindString && slices.Contains(words, n.Text()) {
		*target = T(n.Text())
		return nil
	}
	return n.Expected(oneOf(words), "")
}

// oneOf returns `a`, `b` or `c`.
func oneOf(words []string) string {
	last := len(words) - 1
	return "`" + strings.Join(words[:last], "`, `") + "` or `" + words[last] + "`"
}
