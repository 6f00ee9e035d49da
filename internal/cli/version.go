package cli

import "runtime/debug"

// versionCommand prints the version and the build.
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

// versionLine returns the program's name, its version and Go's version.
func versionLine() string {
	goVersion := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
	}
	return "recourse " + moduleVersion() + ", " + goVersion
}

// moduleVersion returns the version of the program's module.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
