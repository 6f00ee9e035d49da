package wire

import (
	"crypto/sha256"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Sum identifies what a request is for: its method, its name and its arguments, however its client spells them. A
// request that continues another one, with a state, has the same sum.
func (m *Message) Sum() [sha256.Size]byte {
	arguments := json.Canonical(m.Arguments)
	if len(arguments) == 0 {
		arguments = json.Value("{}")
	}
	return sha256.Sum256([]byte(m.Method + "\x00" + m.Name + "\x00" + string(arguments)))
}
