package strictyaml_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// The compact form is read as the same document as the file.
func TestCompact(t *testing.T) {
	t.Parallel()
	const file = "a: &x {b: [1, two, 3.5, true, ~, \"4\"], \"ü:;\": \"a\\nb\"}\nc: *x\nd: []\ne: {}\nf: |\n  some\n  lines\n"
	doc, err := strictyaml.Parse("file.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	compact := string(doc.AppendCompact(nil))
	documents, err := strictyaml.ParseCompact("5:other1;n0:" + compact)
	if err != nil || len(documents) != 2 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	again := documents["file.yaml"]
	if got := string(again.AppendCompact(nil)); got != compact {
		t.Errorf("%s was written as %s", compact, got)
	}
	var want, got any
	doc.Decode(&want)
	again.Decode(&got)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(strictyaml.Pos{})); diff != "" || doc.Err() != nil || again.Err() != nil {
		t.Errorf("%v, %v, (-file +compact):\n%s", doc.Err(), again.Err(), diff)
	}
}

// A text that is not in the compact form is refused.
func TestCompactRefused(t *testing.T) {
	t.Parallel()
	const compact = "1:a4;{2;1:as1:xe1:b[1;i1:7"
	texts := []string{
		"1", "1:", "1:a1;", "1:a1;x1:a", "1:a2;s1:a", "1:a1;s1:ab", "1:a1;s9:a", "1:a1;s-1:a", "1:a1;[1;s1:a", "1:a99999999999;s1:a",
		"1:a1;[999999;",
	}
	for i := 1; i < len(compact); i++ {
		texts = append(texts, compact[:i], compact[:i]+";"+compact[i:])
	}
	for _, text := range texts {
		if _, err := strictyaml.ParseCompact(text); err == nil {
			t.Errorf("accepted %q", text)
		}
	}
}
