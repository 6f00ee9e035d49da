package upstream

import "context"

// lasting is a context that also has the values of another.
type lasting struct {
	context.Context

	values context.Context
}

// Lasting returns a context that ends when life does, with the values of a request: for work that continues
// without the request.
func Lasting(life, request context.Context) context.Context { return lasting{life, request} }

// Value returns a value of either.
func (l lasting) Value(key any) any {
	if v := l.Context.Value(key); v != nil {
		return v
	}
	return l.values.Value(key)
}
