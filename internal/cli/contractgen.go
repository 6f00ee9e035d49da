package cli

import (
	"fmt"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/docs/contractgen"
)

// contractGen writes a contract as source code.
type contractGen struct {
	Contract string `arg:"" help:"Name of a built-in contract, or a contract file."`
	Lang     string `required:"" enum:"ts,python" placeholder:"LANGUAGE" help:"Language: ts (TypeScript) or python."`
	For      string `default:"client" enum:"client,server,both" help:"Who uses it: client (reads and recovers), server (writes), or both."`
}

// Help shows an example.
func (*contractGen) Help() string {
	return `For authors of clients and servers in other languages: one file without dependencies. For a client it has the types of ` +
		`the record, the table of codes, a parser, and recovery from failures; for a server, constructors, a writer, and the ` +
		`types of the wire form. Python is for clients only. The top of the file says how to use it, and what it leaves out.

Example:

    recourse contract gen fieldmcp --lang ts`
}

// Run prints the file.
func (c *contractGen) Run(env *term.Environment) error {
	found, err := load.Contract(c.Contract)
	if err != nil {
		return err
	}
	audience := contractgen.Audience(c.For)
	if c.Lang == "python" {
		if audience != contractgen.ForClients {
			return term.Usage(term.Hint(fmt.Errorf("--for %s: Python is for clients only", c.For), "leave --for out"))
		}
		term.Printf(env.Stdout, "%s", contractgen.Python(found))
		return nil
	}
	term.Printf(env.Stdout, "%s", contractgen.TypeScript(found, audience))
	return nil
}
