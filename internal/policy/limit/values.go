package limit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Put stores a value under a key in Redis for that long. It replaces an older one.
func (s *Shared) Put(ctx context.Context, key, value string, keep time.Duration) error {
	return s.use(ctx, "write to", func(ctx context.Context) error {
		return s.redis.client.Set(ctx, key, value, keep).Err()
	})
}

// Value returns the value of a key in Redis, or "".
func (s *Shared) Value(ctx context.Context, key string) (value string, err error) {
	err = s.use(ctx, "read from", func(ctx context.Context) (err error) {
		if value, err = s.redis.client.Get(ctx, key).Result(); errors.Is(err, redis.Nil) {
			err = nil
		}
		return err
	})
	return value, err
}

// Extend makes Redis keep a key's value, if there is one, for that long from now on.
func (s *Shared) Extend(ctx context.Context, key string, keep time.Duration) error {
	return s.use(ctx, "write to", func(ctx context.Context) error {
		return s.redis.client.PExpire(ctx, key, keep).Err()
	})
}

// Delete deletes the value of a key from Redis.
func (s *Shared) Delete(ctx context.Context, key string) error {
	return s.use(ctx, "delete from", func(ctx context.Context) error {
		return s.redis.client.Del(ctx, key).Err()
	})
}

// use runs a Redis command with a time limit, unless Redis is left alone.
func (s *Shared) use(ctx context.Context, what string, do func(ctx context.Context) error) error {
	err := s.ask(ctx, time.Now(), func() error {
		ctx, cancel := context.WithTimeout(ctx, s.redis.patience)
		defer cancel()
		return do(ctx)
	})
	if err != nil {
		return fmt.Errorf("%s Redis: %w", what, err)
	}
	return nil
}
