package term

import "runtime/debug"

// Version returns the version of the program's module.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
