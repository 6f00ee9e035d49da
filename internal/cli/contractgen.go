package cli

import (
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/docs/contractgen"
)

// contractGen writes a contract as source code.
type contractGen struct {
	Contract string `arg:"" help:"Name of a built-in contract, or a contract file."`
	Lang     string `required:"" enum:"ts,python,json" placeholder:"LANGUAGE" help:"${contract_gen_lang}"`
}

// Help shows an example.
func (*contractGen) Help() string {
	return `For authors of clients and servers in other languages, with the packages @recoursehq/client (npm) and recourse-client ` +
		`(PyPI). In TypeScript it is the contract with the types of its codes and of its form on the wire; in Python the ` +
		`contract with an exception for each code. As JSON it is the contract alone, which both packages load.

Example:

    recourse contract gen fieldmcp --lang ts`
}

// Run prints the file.
func (c *contractGen) Run(env *term.Environment) error {
	found, err := load.Contract(c.Contract)
	if err != nil {
		return err
	}
	switch c.Lang {
	case "python":
		term.Printf(env.Stdout, "%s", contractgen.Python(found))
	case "json":
		term.Printf(env.Stdout, "%s", contractgen.JSON(found))
	default:
		term.Printf(env.Stdout, "%s", contractgen.TypeScript(found))
	}
	return nil
}
