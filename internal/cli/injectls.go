package cli

import (
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/lab/inject"
)

// injectLs lists the faults.
type injectLs struct {
	Contract string `placeholder:"NAME" help:"List the codes of this contract: its name or file."`
}

// Help shows an example.
func (*injectLs) Help() string {
	return `Example:

    recourse inject ls
    recourse inject ls --contract fieldmcp`
}

// Run prints one line per fault, or per code.
func (c *injectLs) Run(env *term.Environment) error {
	if c.Contract != "" {
		found, err := load.Contract(c.Contract)
		if err != nil {
			return err
		}
		t := term.NewTable(env.Stdout, "CODE", "KIND", "WHEN")
		for _, code := range contractform.Of(found).Codes {
			if !code.Open {
				t.Row(code.Code, string(code.Kind), code.When)
			}
		}
		return t.Flush()
	}
	t := term.NewTable(env.Stdout, "FAULT", "EFFECT", "WITH", "WHAT THE CLIENT SEES")
	for _, d := range inject.Menu() {
		effect := string(d.Effects[0])
		if len(d.Effects) > 1 {
			effect += ", " + string(d.Effects[1])
		}
		about := d.About
		if d.Options != "" {
			about += " (" + d.Options + ")"
		}
		t.Row(d.Name, effect, d.Where.String(), about)
	}
	return t.Flush()
}
