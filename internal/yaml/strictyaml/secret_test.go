package strictyaml_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A syntax error shows nothing of its line: before the file is parsed, nobody knows which values are secret.
func TestSyntaxShowsNoSecret(t *testing.T) {
	t.Parallel()
	const leak = "t0k3n-value"
	for _, text := range []string{
		"headers:\n  Authorization: Bearer: " + leak + "\n", "a: \"" + leak + "\nb: c\n", "token: [" + leak + "\nb: 3\n", "a: @" + leak + "\n",
		"a: {b: " + leak + "\n", "a: 1\n" + leak + "\nc: 2\n", "a: *" + leak + "\n", "a: &x &y " + leak + "\n", "a: %" + leak + "\n", "\ta: " + leak + "\n",
		"a: 1\n  b: " + leak + "\n", "- a\nb: " + leak + "\n", "a: !!int " + leak + "\n", "? " + leak + "\n: : x\n", "'" + leak + "': 'x\n",
	} {
		var v struct {
			A string `yaml:"a"`
		}
		err := strictyaml.Decode("f.yaml", []byte(text), &v)
		if err != nil && strings.Contains(err.Error(), "not valid YAML") && strings.Contains(err.Error(), leak) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
