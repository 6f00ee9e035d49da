package hosts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// backupSuffix is what the name of a copy has behind that of its file.
const backupSuffix = ".recourse-backup"

// Backup returns the name of the copy that is kept of the file at path.
func Backup(path string) string { return path + backupSuffix }

// Install writes text in place of the file at path and keeps a copy of what it was.
// Whoever reads the file sees either all of the one or all of the other; its
// permissions and its owner stay, and a link stays one. A copy that is there already is an error,
// [fs.ErrExist]: it may be all that is left of the original.
func Install(path string, text []byte) error {
	target, mode, err := resolve(path)
	if err != nil {
		return err
	}
	before, err := os.ReadFile(target)
	if err != nil {
		return fmt.Errorf("copy the hosts file: %w", err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return fmt.Errorf("copy the hosts file: %w", err)
	}
	backup, err := os.OpenFile(Backup(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("copy the hosts file: %w", err)
	}
	_, err = backup.Write(before)
	if err = errors.Join(err, keepOwner(backup, info), backup.Sync(), backup.Close()); err == nil {
		err = replace(target, text, mode)
	}
	if err != nil {
		_ = os.Remove(Backup(path)) // the file itself is as it was
		return fmt.Errorf("write the hosts file: %w", err)
	}
	return nil
}

// ReadBackup returns what the copy of the file at path contains. A link in its place is
// not the copy: whoever may write the folder could have it name any file.
func ReadBackup(path string) ([]byte, error) {
	info, err := os.Lstat(Backup(path))
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: it is not the copy that was kept", Backup(path))
	}
	if err != nil {
		return nil, fmt.Errorf("read the copy of the hosts file: %w", err)
	}
	file, err := os.Open(Backup(path))
	if err != nil {
		return nil, fmt.Errorf("read the copy of the hosts file: %w", err)
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the copy of the hosts file: %w", err)
	}
	if !os.SameFile(info, opened) {
		return nil, errors.New("read the copy of the hosts file: another file has just taken its place")
	}
	return io.ReadAll(file)
}

// Undo puts the copy back in place of the file at path, byte for byte, and removes
// the copy. The error is [fs.ErrNotExist] when there is none.
func Undo(path string) error {
	before, err := ReadBackup(path)
	if err != nil {
		return err
	}
	target, mode, err := resolve(path)
	if err != nil {
		return err
	}
	if err := replace(target, before, mode); err != nil {
		return fmt.Errorf("write the hosts file: %w", err)
	}
	return os.Remove(Backup(path))
}

// resolve returns the file that path stands for, and its permissions.
func resolve(path string) (target string, mode fs.FileMode, err error) {
	if target, err = filepath.EvalSymlinks(path); err != nil {
		return "", 0, fmt.Errorf("find the hosts file: %w", err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", 0, fmt.Errorf("find the hosts file: %w", err)
	}
	return target, info.Mode().Perm(), nil
}

// replace writes a file beside target and puts it in its place.
func replace(target string, text []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".*")
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err == nil {
		_, err = temporary.Write(text)
		err = errors.Join(err, keepOwner(temporary, info))
	}
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Chmod(temporary.Name(), mode)
	}
	if err == nil {
		err = os.Rename(temporary.Name(), target)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // nothing is left behind
	}
	return err
}
