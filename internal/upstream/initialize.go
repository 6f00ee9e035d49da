package upstream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Version is the version of this program.
var Version = func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}()

// ClientInfo is what this program calls itself as a client, unless it speaks for another one.
var ClientInfo = append(json.AppendQuote([]byte(`{"name":"recourse","version":`), Version), '}')

// InitializeParams returns the params of our own initialize.
func InitializeParams(capabilities json.Value) []byte {
	return fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`, wire.Version20251125, capabilities, ClientInfo)
}

// open makes a child that does not belong to a session ready for requests, in whichever era it speaks, and
// returns its result of initialize; in the modern era there is none.
func (c *child) open(ctx context.Context) (json.Value, error) {
	said, err := c.ask(ctx, wire.MethodInitialize, InitializeParams([]byte("{}")))
	if err != nil {
		return nil, err
	}
	hello, _, err := readInitResult(said)
	switch {
	case errors.Is(err, errRefused) && c.discovers(ctx):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return hello, c.tell(ctx.Done(), wire.AppendRequest(nil, nil, wire.MethodInitialized, nil))
}

// ask makes a request of our own, to open a child, and returns its answer.
func (c *child) ask(ctx context.Context, method string, params []byte) (delivery, error) {
	var m wire.Message
	if err := wire.Parse(wire.AppendRequest(nil, wire.IntID(0), method, params), &m); err != nil {
		return delivery{}, err
	}
	return c.exchange(ctx, &m, nil)
}

// errRefused says that a child does not know initialize, or answers it with an error.
var errRefused = errors.New("refused initialize")

// readInitResult returns the result of a child's answer to initialize, and the version in it.
func readInitResult(said delivery) (hello json.Value, version string, err error) {
	if said.long != nil {
		said.long.close()
		return nil, "", errors.New("answered initialize with more than 1 MiB of data")
	}
	if why := json.Lookup(said.text, "/error"); why != nil {
		return nil, "", fmt.Errorf("%w: %.500s", errRefused, why)
	}
	hello = json.Lookup(said.text, "/result")
	if json.Unmarshal(json.Lookup(hello, "/protocolVersion"), &version) != nil {
		return nil, "", fmt.Errorf("answered initialize without a protocolVersion: %.200q", hello)
	}
	if era, _ := wire.EraOf(version); era == wire.Modern {
		return nil, "", fmt.Errorf("%w: the answer states version %s, which has none", errRefused, version)
	}
	return hello, version, nil
}

// negotiate returns the protocol version for a client that asked for one version at a child that uses
// another. Messages pass unchanged: a client of an older version than the child's ignores what it does not
// know and gets its own version; any other gets the child's.
func negotiate(asked, childs string) string {
	if era, ok := wire.EraOf(asked); (ok && era == wire.Legacy || asked == wire.Version20241105) && asked <= childs {
		return asked
	}
	return overHTTP(childs)
}

// overHTTP returns the version for Streamable HTTP: 2025-03-26 differs from 2024-11-05 only in the transport,
// which is ours here.
func overHTTP(version string) string {
	if version == wire.Version20241105 {
		return wire.Version20250326
	}
	return version
}

// withVersion returns a result of initialize with another protocolVersion.
func withVersion(hello json.Value, version string) json.Value {
	return json.Change(hello, "protocolVersion", func(json.Value) json.Value { return json.AppendQuote(nil, version) })
}
