package config

import (
	"time"

	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// maxShutdownDelay limits how long a program that is being stopped continues.
const maxShutdownDelay = 10 * time.Minute

// restart checks the settings that let clients survive a restart.
func (v *validator) restart(c *Config, root *strictyaml.Node) {
	keys := root.Get("session_keys")
	if keys != nil && len(c.SessionKeys) == 0 {
		v.doc.Reportf(keys.Pos(), "add a secret, or remove `session_keys`", "there is no key")
	}
	for i, key := range c.SessionKeys {
		if len(key) < seal.MinSecret {
			v.doc.Reportf(keys.Item(i).Pos(), "make one with `openssl rand -base64 32`",
				"a session key must have at least %d characters", seal.MinSecret)
		}
	}
	if node := root.Get("shutdown_delay"); c.ShutdownDelay < 0 || c.ShutdownDelay > maxShutdownDelay {
		v.doc.Reportf(node.Pos(), "write it as `5s`", "`shutdown_delay` must be between 0 and %s", written(maxShutdownDelay))
	}
}
