package contract_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// The wire forms of every kind, on every surface, byte for byte.
func TestWireForms(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			archive := txtar.Archive{Comment: []byte("What " + c.Name + " writes for each kind of failure. Rewrite with -update.\n")}
			written := map[string]bool{}
			for _, kind := range recourse.Kinds() {
				seen := map[string]bool{}
				for _, surface := range []string{"result", "http", "rpc", "refused", "server"} {
					call, origin := toolCall(), recourse.OriginGateway
					switch surface {
					case "http":
						call.HTTP = true
					case "rpc":
						call.Method = "prompts/get"
					case "refused":
						call.Method, call.Status = "", 400
					case "server":
						origin = recourse.OriginServer
					}
					form := show(t, c.Write(full(kind).WithOrigin(origin), &call))
					if seen[form] {
						continue // as on a surface before
					}
					seen[form], written[form] = true, true
					archive.Files = append(archive.Files, txtar.File{Name: string(kind) + "/" + surface, Data: []byte(form)})
				}
			}
			for _, place := range places {
				for _, kind := range recourse.Kinds() {
					call := toolCall()
					call.HTTP, call.At = true, place
					a := c.Write(full(kind).WithOrigin(recourse.OriginGateway), &call)
					form := show(t, a)
					if a.Surface != contract.SurfaceHTTP || written[form] {
						continue
					}
					written[form] = true
					archive.Files = append(archive.Files, txtar.File{Name: "http/" + string(place) + "/" + string(kind), Data: []byte(form)})
				}
			}
			golden(t, filepath.Join("testdata", "wire", c.Name+".txtar"), string(txtar.Format(&archive)))
		})
	}
}

// places are where a call may stand that fails before its tool runs.
var places = []contract.At{
	contract.AtCredentialsMissing, contract.AtCredentialsInvalid, contract.AtUserMissing, contract.AtUserInvalid,
	contract.AtSession, contract.AtUpstreamMisconfigured, contract.AtUpstream,
}

// show shows an answer without the record in _meta, which the record's own tests
// cover.
func show(t *testing.T, a contract.Answer) string {
	t.Helper()
	text := strings.TrimSuffix(wire(withoutMeta(t, a)), "\n") + "\n"
	if a.Surface == contract.SurfaceRPC && a.Status != 200 {
		text = fmt.Sprintf("HTTP %d\n%s", a.Status, text)
	}
	return strings.ReplaceAll(text, "\r", "")
}
