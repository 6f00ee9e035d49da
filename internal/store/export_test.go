package store

import "context"

// Write is for tests of a store that cannot be written to.
func (u *Uses) Write(ctx context.Context) { u.write(ctx) }
