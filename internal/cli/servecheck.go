package cli

import (
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"

	"github.com/recoursehq/recourse/internal/config"
)

// check says that the configuration can be served, and where each server would be.
func (c *serveCommand) check(env *Environment, cfg *config.Config) error {
	file := c.Config
	if c.HostsFile != "" {
		file = c.HostsFile
	}
	printf(env.Stdout, "%s: no mistakes\n", file)
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	var missing []string
	for _, s := range cfg.Servers {
		printf(w, "  %s\thttp://%s%s\tcontract %s\n", s.Name, cfg.Listen, s.Path, s.Contract)
		if len(s.Command) == 0 {
			continue
		}
		if _, err := exec.LookPath(s.Command[0]); err != nil && s.Cwd == "" {
			missing = append(missing, s.Command[0]+" of "+s.Name)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(missing) > 0 {
		return &hintedError{
			fmt.Errorf("no such program: %s", strings.Join(missing, ", ")), "install it, or write its whole path into `command`",
		}
	}
	return nil
}
