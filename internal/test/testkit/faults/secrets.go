package faults

import "strings"

// Secrets that the faults leak, and a gateway must not.
const (
	secretAddr     = "10.11.12.13:5432"
	secretPassword = "hunter2-s3cr3t"
	secretDSN      = "postgres://farm:" + secretPassword + "@" + secretAddr + "/orders"
	secretFrame    = "/srv/app/internal/orders/store.go:42"
)

// LeakText is the message of a careless server when its database is down. It contains all [Secrets].
const LeakText = "could not create the order: dial " + secretDSN + ": connect: connection refused\n\n" +
	"goroutine 17 [running]:\nmain.(*Store).Create(0xc000010000)\n\t" + secretFrame + " +0x1b\n" +
	"Traceback (most recent call last):\n  File \"/srv/app/orders.py\", line 7, in create\n    raise err"

// Secrets returns the parts of the faults' answers that must never reach a client: a password, addresses and
// stack frames.
func Secrets() []string {
	return []string{secretPassword, secretDSN, secretAddr, strings.TrimPrefix(secretFrame, "/"), "/srv/app/orders.py"}
}
