package contractgen_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// What a contract does not know of a failure is in what the clients in other languages read, and in what they raise.
func TestUnknownMembersReachTheCaller(t *testing.T) {
	t.Parallel()
	clients := map[string]func(*testing.T, *contract.Contract, string) *exec.Cmd{
		"TypeScript": func(t *testing.T, c *contract.Contract, answers string) *exec.Cmd {
			t.Helper()
			return exec.CommandContext(t.Context(), "node", filepath.Join(sdk.Node(t), "testkit", "members.mjs"), sdk.TypeScriptPackage(t), c.Name, answers)
		},
		"Python": func(t *testing.T, c *contract.Contract, answers string) *exec.Cmd {
			t.Helper()
			return sdk.Python(t, "members.py", c.Name, answers)
		},
	}
	for language, command := range clients {
		for _, c := range contract.Builtin().All() {
			t.Run(language+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				failures, answers := drawn(c.Name)
				write(t, filepath.Join(dir, "answers.json"), answers)
				cmd := command(t, c, filepath.Join(dir, "answers.json"))
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				read := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
				if len(read) != len(failures) {
					t.Fatalf("%d of %d failures were read", len(read), len(failures))
				}
				for i, f := range failures {
					for j, what := range []string{"parsed", "recovered"} {
						got := string(json.Lookup(json.Value(read[i]), json.Pointer("/"+strconv.Itoa(j))))
						if missing := contracttest.Missing(f.Marks, got); len(missing) > 0 || got == "null" {
							t.Errorf("%s: %q are lost:\n%+v\n%s", what, missing, f, got)
						}
					}
					if t.Failed() {
						break
					}
				}
			})
		}
	}
}

// drawn returns failures in the form of a contract, as many as rapid is to check, and the same as JSON.
func drawn(name string) (failures []contracttest.Marked, answers []byte) {
	n, _ := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	answers = []byte{'['}
	for i := range n {
		f := contracttest.MarkedFailures(name).Example(i)
		var answer json.Members
		switch {
		case f.Body != "":
			answer.Number("status", f.Status)
			answer.Text("body", f.Body)
		case f.Error != "":
			answer.Add("error", json.Value(f.Error))
		default:
			answer.Add("result", json.Value(f.Result))
		}
		if i > 0 {
			answers = append(answers, ',')
		}
		failures, answers = append(failures, f), answer.AppendTo(answers)
	}
	return failures, append(answers, ']')
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
