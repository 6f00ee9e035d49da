package door

// LockoutAddresses returns the number of addresses in a lockout.
func LockoutAddresses(l *Lockout) int { return len(l.failures) }
