package cli

import (
	"text/tabwriter"

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
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	if c.Contract != "" {
		found, err := load.Contract(c.Contract)
		if err != nil {
			return err
		}
		term.Printf(w, "CODE\tKIND\tWHEN\n")
		for _, code := range contractform.Of(found).Codes {
			if !code.Open {
				term.Printf(w, "%s\t%s\t%s\n", code.Code, code.Kind, code.When)
			}
		}
		return w.Flush()
	}
	term.Printf(w, "FAULT\tEFFECT\tWITH\tWHAT THE CLIENT SEES\n")
	for _, d := range inject.Menu() {
		effect := string(d.Effects[0])
		if len(d.Effects) > 1 {
			effect += ", " + string(d.Effects[1])
		}
		about := d.About
		if d.Options != "" {
			about += " (" + d.Options + ")"
		}
		term.Printf(w, "%s\t%s\t%s\t%s\n", d.Name, effect, d.Where, about)
	}
	return w.Flush()
}
