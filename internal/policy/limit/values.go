package limit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Put stores a value under a key in Redis for that long. It replaces an older one.
func (s *Shared) Put(ctx context.Context, key, value string, keep time.Duration) error {
	_, err := s.use(ctx, "write to", key, "SET", value, "PX", keep.Milliseconds())
	return err
}

// Value returns the value of a key in Redis, or "". One that is no text is none.
func (s *Shared) Value(ctx context.Context, key string) (string, error) {
	value, err := redis.String(s.use(ctx, "read from", key, "GET"))
	answer, ok := errors.AsType[redis.Error](err)
	if errors.Is(err, redis.ErrNil) || ok && strings.HasPrefix(answer.Error(), "WRONGTYPE ") {
		err = nil
	}
	return value, err
}

// Extend makes Redis keep a key's value, if there is one, for that long from now on.
func (s *Shared) Extend(ctx context.Context, key string, keep time.Duration) error {
	_, err := s.use(ctx, "write to", key, "PEXPIRE", keep.Milliseconds())
	return err
}

// Delete deletes the value of a key from Redis.
func (s *Shared) Delete(ctx context.Context, key string) error {
	_, err := s.use(ctx, "delete from", key, "DEL")
	return err
}

// Append adds a value to the list of a key in Redis, which keeps the last most of them for that long.
func (s *Shared) Append(ctx context.Context, key, value string, most int, keep time.Duration) error {
	if _, err := s.use(ctx, "write to", key, "RPUSH", value); err != nil {
		return err
	}
	if _, err := s.use(ctx, "write to", key, "LTRIM", -most, -1); err != nil {
		return err
	}
	return s.Extend(ctx, key, keep)
}

// List returns the values of the list of a key in Redis, from the first to the last.
func (s *Shared) List(ctx context.Context, key string) ([]string, error) {
	return redis.Strings(s.use(ctx, "read from", key, "LRANGE", 0, -1))
}

// use runs a Redis command for a key with a time limit, unless Redis is left alone.
func (s *Shared) use(ctx context.Context, what, key, command string, args ...any) (reply any, err error) {
	err = s.ask(ctx, time.Now(), func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, s.redis.patience)
		defer cancel()
		reply, err = s.redis.nodes.do(ctx, key, command, append([]any{key}, args...)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s Redis: %w", what, err)
	}
	return reply, nil
}
