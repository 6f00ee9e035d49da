package limit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Put keeps a value under a key for that long. It replaces an older one.
func (r *Redis) Put(ctx context.Context, key, value string, keep time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	if err := r.client.Set(ctx, key, value, keep).Err(); err != nil {
		return fmt.Errorf("write to Redis: %w", err)
	}
	return nil
}

// Value returns the value of a key; "" if there is none.
func (r *Redis) Value(ctx context.Context, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	value, err := r.client.Get(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read from Redis: %w", err)
	}
	return value, nil
}

// Extend has the value of a key, if there is one, kept for that long from now on.
func (r *Redis) Extend(ctx context.Context, key string, keep time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	if err := r.client.PExpire(ctx, key, keep).Err(); err != nil {
		return fmt.Errorf("write to Redis: %w", err)
	}
	return nil
}

// Delete deletes the value of a key.
func (r *Redis) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	if err := r.client.Del(ctx, key).Err(); err != nil {
		return fmt.Errorf("delete from Redis: %w", err)
	}
	return nil
}
