package terra

import (
	"context"
	"net"
)

// ReachBy replaces the network between s and the MCP servers of its regions.
func (s *System) ReachBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.regions.client.DialContext = dial
}
