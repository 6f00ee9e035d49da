package cli

import (
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/lab/inject"
)

// schemaCommand prints the schema with which editors check files.
type schemaCommand struct {
	Of string `arg:"" name:"kind" enum:"config,contract,family,faults" help:"config, contract, family or faults."`
}

// Help shows an example.
func (*schemaCommand) Help() string {
	return `Editors complete and check a YAML file whose first line names its schema: "# yaml-language-server: $schema=FILE".

Example:

    recourse schema config`
}

// Run prints the schema.
func (c *schemaCommand) Run(env *term.Environment) error {
	describe := map[string]func() ([]byte, error){
		"config": config.Schema, "contract": contractform.Schema, "family": contractform.FamilySchema, "faults": inject.Schema,
	}
	text, err := describe[c.Of]()
	if err != nil {
		return err
	}
	term.Printf(env.Stdout, "%s", text)
	return nil
}
