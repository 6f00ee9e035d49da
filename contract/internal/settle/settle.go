// Package settle reads how an answer to a verify call is judged.
package settle

import (
	"strings"

	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Compile reads a rule; nil if there is none. Without one, nothing is known of any answer.
func Compile(k *language.Compiler, f *contractform.LandedFile) *contractform.Landed {
	if f == nil {
		return nil
	}
	if !strings.HasPrefix(f.Path, "/") {
		k.Mistakef(f.Node, "write a JSON Pointer into the answer, such as /orders/0/status", "%q is no JSON Pointer", f.Path)
		return nil
	}
	rule := &contractform.Landed{Path: f.Path, Exists: f.Exists}
	tests := 0
	if f.Exists != nil {
		tests++
	}
	for _, want := range []*strictyaml.Node{f.Equals, f.Contains} {
		if want == nil {
			continue
		}
		tests++
		rule.Contains = want == f.Contains
		if text := ""; want.Kind() == strictyaml.KindString && want.Decode(&text) == nil && strings.HasPrefix(text, "/") {
			rule.Pointer = text
		} else {
			rule.Value = k.JSON(want)
		}
	}
	if tests != 1 {
		k.Mistakef(f.Node, "for example {path: /order/status, equals: cancelled}", "expected one of `exists`, `equals` and `contains`")
	}
	return rule
}
