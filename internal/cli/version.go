package cli

import (
	"runtime/debug"

	"github.com/recoursehq/recourse/internal/cli/term"
)

// versionCommand prints the version and the build.
type versionCommand struct{}

// Help shows an example.
func (versionCommand) Help() string {
	return `Example:

    recourse version`
}

// Run prints the module's version and what it was built with.
func (versionCommand) Run(env *term.Environment) error {
	term.Printf(env.Stdout, "%s\n", versionLine())
	return nil
}

// versionLine returns the program's name, its version and Go's version.
func versionLine() string {
	goVersion := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
	}
	return "recourse " + term.Version() + ", " + goVersion
}
