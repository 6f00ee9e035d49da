//go:build !unix

package child

// GroupAlive always returns false: there are no process groups.
func GroupAlive(int) bool { return false }
