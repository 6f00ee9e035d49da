package cli

import "runtime/debug"

// versionCommand prints what was built.
type versionCommand struct{}

// Help shows an example.
func (versionCommand) Help() string {
	return `Example:

    recourse version`
}

// Run prints the module's version and what it was built with.
func (versionCommand) Run(env *Environment) error {
	printf(env.Stdout, "%s\n", versionLine())
	return nil
}

// versionLine names the program, its version and that of Go.
func versionLine() string {
	goVersion := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
	}
	return "recourse " + moduleVersion() + ", " + goVersion
}

// moduleVersion is the version of the module that the program was built from.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
