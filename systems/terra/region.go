package terra

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems/internal/loopback"
)

// The regions of users.
const (
	regionEU     = "eu-west"    // works
	regionDown   = "us-east"    // its MCP server ends every connection
	regionLegacy = "eu-central" // a proxy on the way loses the user
	regionSilent = "sa-east"    // its MCP server never answers
	regionBroker = "us-west"    // a proxy before its MCP server answers 502
	regionBusy   = "ap-east"    // its MCP server answers 503
)

// regions passes requests on to the MCP server of their user's region.
type regions struct {
	users    directory
	proxies  map[string]http.Handler // by region
	backends []*loopback.Local
	client   *http.Transport
	logger   *slog.Logger
}

// newRegions starts the MCP servers of the regions, which serve endpoint.
func newRegions(endpoint http.Handler, users directory, timeout time.Duration, logger *slog.Logger) (*regions, error) {
	r := &regions{
		users: users, proxies: map[string]http.Handler{},
		client: &http.Transport{ResponseHeaderTimeout: timeout},
		logger: logger,
	}
	for region, handler := range map[string]http.Handler{
		regionEU:     endpoint,
		regionLegacy: withoutUser(endpoint),
		regionDown:   failing("drop"),
		regionSilent: failing("slow"),
		regionBroker: failing("502"),
		regionBusy:   failing("503"),
	} {
		backend, err := loopback.Serve(handler)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.backends = append(r.backends, backend)
		target, err := url.Parse(backend.URL)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.proxies[region] = r.newProxy(target)
	}
	return r, nil
}

// close stops the MCP servers.
func (r *regions) close() error {
	r.client.CloseIdleConnections()
	var err error
	for _, b := range r.backends {
		err = errors.Join(err, b.Close())
	}
	return err
}

// failing is an MCP server with a fault.
func failing(fault string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { loopback.Fail(w, r, fault) })
}

// withoutUser is a proxy that only passes on headers that it knows.
func withoutUser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del(userHeader)
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP passes on a request that the guard has let in.
func (r *regions) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	region := r.users[sameUser(req.Header.Get(userHeader))].region
	proxy, ok := r.proxies[region]
	if !ok {
		mcptool.Fail(w, req, contract.AtUpstreamMisconfigured, errors.New("no MCP server is configured for region "+region))
		return
	}
	proxy.ServeHTTP(w, req)
}

// newProxy returns a proxy to the MCP server at target.
func (r *regions) newProxy(target *url.URL) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: r.client,
		ErrorLog:  slog.NewLogLogger(r.logger.Handler(), slog.LevelWarn),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.URL.Scheme, out.Out.URL.Host, out.Out.URL.Path = target.Scheme, target.Host, "/"
			out.Out.Host = target.Host
			out.Out.Header.Del(devIDHeader) // the credentials are no longer needed
			out.Out.Header.Del(keyHeader)
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusServiceUnavailable {
				return recourse.Unavailable("The MCP server").CausedBy(fmt.Errorf("HTTP %d", resp.StatusCode))
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, req *http.Request, err error) {
			mcptool.Fail(w, req, contract.AtUpstream, broken(err))
		},
	}
}

// broken returns the failure of a request without an answer. Every tool only reads: nothing was changed in
// any case.
func broken(err error) *recourse.Error {
	e := recourse.From(err)
	if e.Kind == recourse.KindInternal { // no answer came, for whatever reason
		e = recourse.Unreachable("The MCP server").CausedBy(err)
	}
	return e.WithEffect(recourse.EffectNone)
}
