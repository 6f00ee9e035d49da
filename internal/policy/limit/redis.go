package limit

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis counts in Redis, by its clock: one script and one round trip for a call. The windows of a call are in
// one slot of a cluster. Get one with [OpenRedis] and end it with Close.
type Redis struct {
	client   redis.UniversalClient
	patience time.Duration
}

//go:embed count.lua
var countSource string

var count = redis.NewScript(countSource)

// quiet keeps the client from writing to standard error: errors are returned.
var quiet = sync.OnceFunc(func() { redis.SetLogger(&logging.VoidLogger{}) })

// OpenRedis returns a counter in the Redis at a URL: redis://, rediss:// for TLS, or unix://. Further nodes
// of a cluster follow as parameters, ?addr=HOST:PORT. With ?master_name=NAME, the nodes are Sentinels. It does
// not connect yet. Patience is how long it waits for an answer.
func OpenRedis(address string, patience time.Duration) (*Redis, error) {
	quiet()
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("parse the Redis URL") // the error quotes it, with the password
	}
	if u.Query().Has("master_name") {
		return openFailover(address, patience)
	}
	if u.Query().Has("addr") {
		o, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience/2
		o.ContextTimeoutEnabled, o.MaxRedirects, o.MaxRetries, o.DialerRetries = true, 3, -1, 1
		o.DisableIdentity = true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return &Redis{redis.NewClusterClient(o), patience}, nil
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience/2
	// A script that may have run must not be repeated.
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, -1, 1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &Redis{redis.NewClient(o), patience}, nil
}

// errNode says how to configure a cluster when the client was given only one node of it.
var errNode = errors.New("it is a cluster: name another of its nodes in `redis` with ?addr=HOST:PORT")

// probe is the key that Check counts under.
var probe = Window{ID: "{ready}", Calls: 1 << 40, Length: time.Second}

// Check returns why Redis cannot count. A server that answers PING may be full, be a read-only replica, or
// not allow this user to run scripts: so a call is counted there.
func (r *Redis) Check(ctx context.Context) error {
	_, err := r.Take(ctx, time.Time{}, []Charge{{Window: &probe}})
	return err
}

// Close ends the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Take implements [Counter]. It uses Redis's clock.
func (r *Redis) Take(ctx context.Context, _ time.Time, charges []Charge) (bool, error) {
	return r.count(ctx, taking, charges)
}

// Look implements [Counter].
func (r *Redis) Look(ctx context.Context, _ time.Time, charges []Charge) error {
	_, err := r.count(ctx, looking, charges)
	return err
}

// What count.lua does instead of taking a call back.
const taking, looking = 0, -1

func (r *Redis) count(ctx context.Context, what int64, charges []Charge) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	answer, err := r.run(ctx, what, charges).Int64Slice()
	if err != nil {
		if _, elsewhere := redis.IsMovedError(err); elsewhere {
			err = errNode
		}
		return false, fmt.Errorf("count in Redis: %w", err)
	}
	if len(answer) != 2+2*len(charges) {
		return false, fmt.Errorf("count in Redis: %d numbers for %d windows", len(answer), len(charges))
	}
	for i := range charges {
		c := &charges[i]
		c.at, c.local = answer[1], false
		c.Remaining, c.Reset = answer[2+2*i], time.Duration(answer[3+2*i])*time.Millisecond
	}
	return answer[0] == 1, nil
}

// Give implements [Counter]. What Redis does not take back keeps counting.
func (r *Redis) Give(ctx context.Context, charges []Charge) {
	if len(charges) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.patience)
	defer cancel()
	_ = r.run(ctx, charges[0].at, charges).Err()
}

// run runs count.lua, which takes a call back, or takes one, or looks.
func (r *Redis) run(ctx context.Context, back int64, charges []Charge) *redis.Cmd {
	keys, args := make([]string, len(charges)), make([]any, 1, 1+3*len(charges))
	args[0] = back
	for i := range charges {
		w := charges[i].Window
		keys[i] = redisKey(&charges[i])
		args = append(args, w.Calls, w.Length.Milliseconds(), charges[i].owed)
	}
	return count.Run(ctx, r.client, keys, args...)
}

// redisKey returns the key for the counts of a charge. It does not reveal the caller.
func redisKey(c *Charge) string {
	k, sum := &c.Key, sha256.New()
	address, _ := k.Address.MarshalBinary() // never fails
	for _, part := range [...]string{k.Access, k.Name, string(k.Digest[:]), string(address), k.Org, k.Tool} {
		sum.Write(binary.AppendUvarint(nil, uint64(len(part))))
		sum.Write([]byte(part))
	}
	whose := base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16])
	return "recourse:limit:" + c.Window.ID + ":" + strconv.FormatInt(c.Window.Length.Milliseconds(), 10) + ":" + whose
}
