//go:build unix

package hosts

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and the group of another, if they differ: root may rewrite a user's file.
func keepOwner(file *os.File, as fs.FileInfo) error {
	own, err := file.Stat()
	if err != nil {
		return err
	}
	from, ok := own.Sys().(*syscall.Stat_t)
	to, known := as.Sys().(*syscall.Stat_t)
	if !ok || !known || from.Uid == to.Uid && from.Gid == to.Gid {
		return nil
	}
	if err := file.Chown(int(to.Uid), int(to.Gid)); err != nil {
		return fmt.Errorf("keep the owner: %w", err)
	}
	return nil
}
