// Package profiles has what is public about the MCP servers that are used most, as data: a file a server, in the form that
// docs/profiles.md describes.
package profiles

import "embed"

// Files has the profiles, each as NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
