//go:build linux || darwin

package cli

import "golang.org/x/sys/unix"

// freeSpace returns how many bytes the disk of a folder has left.
func freeSpace(folder string) int64 {
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) != nil {
		return noLimit
	}
	return int64(disk.Bavail) * int64(disk.Bsize) //nolint:unconvert // its types differ by system
}
