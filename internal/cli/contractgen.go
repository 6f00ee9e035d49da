package cli

import "github.com/recoursehq/recourse/internal/contractgen"

// contractGen writes a contract as source code.
type contractGen struct {
	Contract string `arg:"" help:"Name of a built-in contract, or a contract file."`
	Lang     string `required:"" enum:"ts,python" help:"Language: ts (TypeScript) or python."`
}

// Help shows an example.
func (*contractGen) Help() string {
	return `For authors of servers and clients in another language: one file without dependencies, with the types of the wire form and ` +
		`of the record, the table of the codes, a parser, constructors, a writer, and a client's recovery from failures. In Python ` +
		`it is for clients alone, without constructors and writer. Its head says how it is used, and what it leaves out.

Example:

    recourse contract gen fieldmcp --lang ts`
}

// Run prints the file.
func (c *contractGen) Run(env *Environment) error {
	found, err := findContract(c.Contract)
	if err != nil {
		return err
	}
	generate := contractgen.TypeScript
	if c.Lang == "python" {
		generate = contractgen.Python
	}
	printf(env.Stdout, "%s", generate(found))
	return nil
}
