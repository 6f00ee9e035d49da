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
	version, goVersion := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version, goVersion = info.Main.Version, info.GoVersion
	}
	printf(env.Stdout, "recourse %s, %s\n", version, goVersion)
	return nil
}
