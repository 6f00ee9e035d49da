package endpoint

// LockoutAddresses returns how many addresses a lockout remembers.
func LockoutAddresses(l *Lockout) int { return len(l.failures) }
