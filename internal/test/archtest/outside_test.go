package archtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A program of another module, which cannot import internal packages, builds a server and calls it, and gets no other
// modules than authors are told.
func TestProgramOutsideTheModule(t *testing.T) {
	t.Parallel()

	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name string, data []byte, err error) {
		t.Helper()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.ReadFile(filepath.Join("testdata", "outside", "main.go"))
	put("main.go", program, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	put("go.sum", sums, err)
	put("go.mod", fmt.Appendf(nil, "module example.com/outside\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, root), nil)
	run := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir = dir
		// Nothing is downloaded: the program only needs what this module has. It is compiled with the same flags, so once.
		command.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
		return string(out)
	}

	want := `PROVIDER_UNAVAILABLE: the tool only reads
F-1: 40 ha, <nil>, not found: false
F-9: , not_found: There is no field "F-9"., not found: true
`
	if diff := cmp.Diff(want, run("run", "-mod=mod", "-buildvcs=false", ".")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	modules := strings.Fields(run("list", "-mod=mod", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
	modules = slices.DeleteFunc(sortedSet(modules), func(name string) bool { return name == module || name == "example.com/outside" })
	author := deliveries[slices.IndexFunc(deliveries, func(d delivery) bool { return d.path == "mcptool" })]
	for _, fault := range author.surplus(modules) {
		t.Error(fault)
	}
}
