package limit

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A place is where a Redis is, as its URL says.
type place struct {
	network   string
	addresses []string
	master    string             // what the Sentinels at the addresses call the primary; "": they are no Sentinels
	sentinels []redis.DialOption // for connections to them
	redis     []redis.DialOption
	patience  time.Duration // with the making of a connection
}

// connecting is how many times as long the making of a connection may take as a call.
const connecting = 10

func (p *place) cluster() bool { return p.master == "" && len(p.addresses) > 1 }

// parsePlace reads a URL. No error has its password.
func parsePlace(address string, patience time.Duration) (*place, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("parse the Redis URL") // the error quotes it, with the password
	}
	query := u.Query()
	for name := range query {
		if !slices.Contains([]string{"addr", "master_name", "username", "password", "db"}, name) {
			return nil, fmt.Errorf("redis: there is no parameter %q", name)
		}
	}
	p := &place{network: "tcp", addresses: []string{at(u.Host)}, master: query.Get("master_name"), patience: patience}
	common := []redis.DialOption{
		redis.DialConnectTimeout(patience), redis.DialReadTimeout(patience), redis.DialWriteTimeout(patience),
		redis.DialTLSHandshakeTimeout(patience),
	}
	switch {
	case query.Has("master_name") && p.master == "":
		return nil, errors.New("redis: `master_name` is empty")
	case u.Scheme == "unix" && (p.master != "" || query.Has("addr")):
		return nil, errors.New("redis: a cluster and Sentinels are at redis:// or rediss://")
	case u.Scheme == "unix" && u.Path != "":
		p.network, p.addresses[0], u.Path = "unix", u.Path, ""
	case u.Scheme == "rediss":
		common = append(common, redis.DialUseTLS(true), redis.DialTLSConfig(&tls.Config{
			ServerName: u.Hostname(), MinVersion: tls.VersionTLS12,
		}))
	case u.Scheme != "redis":
		return nil, errors.New("redis: the URL begins with none of redis://, rediss:// and unix:///")
	}
	for _, more := range query["addr"] {
		p.addresses = append(p.addresses, at(more))
	}
	db, err := strconv.Atoi(cmp.Or(query.Get("db"), strings.Trim(u.Path, "/"), "0"))
	if err != nil || db < 0 {
		return nil, errors.New("redis: the database after the last slash is not a number")
	}
	password, _ := u.User.Password()
	if p.redis = as(u.User.Username(), password, common); p.master != "" {
		p.sentinels, p.redis = p.redis, as(query.Get("username"), query.Get("password"), common)
	}
	p.redis = append(p.redis, redis.DialDatabase(db))
	return p, nil
}

// as returns options with those for a user.
func as(user, password string, options []redis.DialOption) []redis.DialOption {
	return append(slices.Clone(options), redis.DialUsername(user), redis.DialPassword(password))
}

// at returns the address of a host, with or without a port.
func at(host string) string {
	u := url.URL{Host: host}
	return net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
}

// dial connects to a node of a cluster or, at "", to the only one or the primary.
func (p *place) dial(ctx context.Context, at string) (redis.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	if p.master != "" {
		primary, err := p.primary(ctx)
		if err != nil {
			return nil, err
		}
		at = primary
	}
	c, err := redis.DialContext(ctx, p.network, cmp.Or(at, p.addresses[0]), p.redis...)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err := greet(ctx, c); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// primary asks all Sentinels at the same time: one of them may hang.
func (p *place) primary(ctx context.Context) (string, error) {
	type answer struct {
		at  string
		err error
	}
	answers := make(chan answer, len(p.addresses))
	for _, sentinel := range p.addresses {
		go func() {
			at, err := p.ask(ctx, sentinel)
			answers <- answer{at, err}
		}()
	}
	var failed error
	for range p.addresses {
		select {
		case a := <-answers:
			if a.err == nil {
				return a.at, nil
			}
			failed = a.err
		case <-ctx.Done():
			return "", cmp.Or(failed, ctx.Err())
		}
	}
	return "", failed
}

// ask asks a Sentinel for the primary.
func (p *place) ask(ctx context.Context, sentinel string) (string, error) {
	c, err := redis.DialContext(ctx, p.network, sentinel, p.sentinels...)
	if err != nil {
		return "", fmt.Errorf("ask a Sentinel: %w", err)
	}
	defer c.Close()
	said, err := redis.Strings(send(ctx, c, "SENTINEL", "get-master-addr-by-name", p.master))
	switch {
	case errors.Is(err, redis.ErrNil):
		return "", fmt.Errorf("no Sentinel knows a primary that is called %q: see `master_name` in `redis`", p.master)
	case err != nil:
		return "", fmt.Errorf("ask a Sentinel: %w", err)
	case len(said) != 2:
		return "", fmt.Errorf("ask a Sentinel: an answer of %d parts", len(said))
	}
	return net.JoinHostPort(said[0], said[1]), nil
}
