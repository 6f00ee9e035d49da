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
	Lang     string `required:"" enum:"ts,python,json" placeholder:"LANGUAGE" help:"ts (TypeScript), python, or json: for clients in both."`
	For      string `default:"client" enum:"client,server,both" help:"Who uses it: client (reads and recovers), server (writes), or both."`
}

// Help shows an example.
func (*contractGen) Help() string {
	return `For authors of clients and servers in other languages. In TypeScript it is one file without dependencies: for a ` +
		`client it has the types of the record, the table of codes, a parser, and recovery from failures; for a server, ` +
		`constructors, a writer, and the types of the wire form. In Python it is for the package recourse-client: the contract, ` +
		`and an exception for each code. As JSON it is the contract alone, for Contract("shop.json") of that package.

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
	if c.Lang != "ts" && audience != contractgen.ForClients {
		return term.Usage(term.Hint(fmt.Errorf("--for %s is for TypeScript", c.For), "leave --for out"))
	}
	switch c.Lang {
	case "python":
		term.Printf(env.Stdout, "%s", contractgen.Python(found))
	case "json":
		term.Printf(env.Stdout, "%s", contractgen.JSON(found))
	default:
		term.Printf(env.Stdout, "%s", contractgen.TypeScript(found, audience))
	}
	return nil
}
