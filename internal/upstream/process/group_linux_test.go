package process_test

import (
	"os/exec"
	"testing"

	"github.com/recoursehq/recourse/internal/upstream/process"
)

// What a killed program had started as a group of its own ends with it, if it has passed its environment on.
func TestGroupsOfGroupsEnd(t *testing.T) {
	t.Parallel()
	var outer, inner process.Group
	program := exec.Command("sleep", "300")
	if err := outer.Start(program); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "300")
	child.Env = program.Env
	if err := inner.Start(child); err != nil {
		t.Fatal(err)
	}
	outer.Kill()
	_ = program.Wait() // it was killed
	_ = child.Wait()   // or this hangs
}
