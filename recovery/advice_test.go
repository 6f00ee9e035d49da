package recovery_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

// The calls that hints name can be had as data; the kit has them, and clients in other languages must return the same.
func TestAdvised(t *testing.T) {
	t.Parallel()
	kit, err := os.ReadFile(filepath.Join("..", "contract", "testdata", "kit", "advice.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(kit) {
		var want struct {
			Contract string          `json:"contract"`
			Hint     string          `json:"hint"`
			Tool     string          `json:"tool"`
			Args     json.RawMessage `json:"args"`
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		var list []recovery.Advice
		if want.Tool != "" {
			list = []recovery.Advice{{Tool: want.Tool, Arguments: want.Args, Hint: want.Hint}}
		}
		e := recourse.New(recourse.KindUnknown, "").WithHint(want.Hint)
		if diff := cmp.Diff(list, recovery.Advised(contract.MustBuiltin(want.Contract), e)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Hint, diff)
		}
	}
}
