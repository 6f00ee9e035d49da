package terra

import (
	"context"
	"net"
)

// ReachBy has s connect to the MCP servers of its regions by another way than the network.
func (s *System) ReachBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.regions.client.DialContext = dial
}
