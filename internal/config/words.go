package config

import (
	"reflect"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
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
