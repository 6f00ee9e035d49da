package limit

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Redis counts in Redis, by its clock: one script and one round trip for a call. The windows of a call are in
// one slot of a cluster. Get one with [OpenRedis] and end it with Close.
type Redis struct {
	nodes    *nodes
	patience time.Duration
}

//go:embed count.lua
var countSource string

var count = redis.NewScript(-1, countSource)

// OpenRedis returns a counter in the Redis at a URL: redis://, rediss:// for TLS, or unix://. Further nodes
// of a cluster follow as parameters, ?addr=HOST:PORT. With ?master_name=NAME, the nodes are Sentinels. It does
// not connect yet. Patience is how long it waits for an answer.
func OpenRedis(address string, patience time.Duration) (*Redis, error) {
	p, err := parsePlace(address, connecting*patience)
	if err != nil {
		return nil, err
	}
	return &Redis{&nodes{place: p, pools: map[string]*pool{}, slots: map[uint16]string{}}, patience}, nil
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
func (r *Redis) Close() error { return r.nodes.Close() }

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
	answer, err := redis.Int64s(r.run(ctx, what, charges))
	if err != nil {
		if strings.HasPrefix(err.Error(), "MOVED ") {
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
	_, _ = r.run(ctx, charges[0].at, charges)
}

// run runs count.lua, which takes a call back, or takes one, or looks. A Redis that does not know it yet is sent it.
func (r *Redis) run(ctx context.Context, back int64, charges []Charge) (any, error) {
	args, key := make([]any, 1, 2+4*len(charges)), ""
	args[0] = len(charges)
	for i := range charges {
		key = redisKey(&charges[i])
		args = append(args, key)
	}
	args = append(args, back)
	for i := range charges {
		w := charges[i].Window
		args = append(args, w.Calls, w.Length.Milliseconds(), charges[i].owed)
	}
	return r.nodes.run(ctx, key, func(c redis.Conn) (any, error) {
		reply, err := send(ctx, c, "EVALSHA", append([]any{count.Hash()}, args...)...)
		if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT ") {
			reply, err = send(ctx, c, "EVAL", append([]any{countSource}, args...)...)
		}
		return reply, err
	})
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
