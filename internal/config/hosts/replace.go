package hosts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// backupSuffix is the suffix of a copy's name.
const backupSuffix = ".recourse-backup"

// Backup returns the name of the copy that is kept of the file at path.
func Backup(path string) string { return path + backupSuffix }

// Install replaces the file at path by text, after it has saved before, the file without the wrapper, as the
// copy, which replaces an older one. A concurrent reader sees either all of the old file or all of the new
// one; permissions and owner stay, and a link stays a link. A copy that is a link is an error, [fs.ErrExist]:
// it is not ours.
func Install(path string, text, before []byte) error {
	target, mode, err := resolve(path)
	if err != nil {
		return err
	}
	info, err := os.Lstat(Backup(path))
	isOld := err == nil
	if isOld && !info.Mode().IsRegular() {
		return fmt.Errorf("copy the hosts file: %w: %s is not a regular file", fs.ErrExist, Backup(path))
	}
	if err := replaceAs(Backup(path), target, before, mode); err != nil {
		return fmt.Errorf("copy the hosts file: %w", err)
	}
	if err := replaceAs(target, target, text, mode); err != nil {
		if !isOld {
			_ = os.Remove(Backup(path)) // the file itself is unchanged
		}
		return fmt.Errorf("write the hosts file: %w", err)
	}
	return nil
}

// ReadBackup returns the content of the copy of the file at path. A link is not accepted as the copy: anyone
// who may write the folder could make it point to any file.
func ReadBackup(path string) ([]byte, error) {
	info, err := os.Lstat(Backup(path))
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: it is not the backup", Backup(path))
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

// Undo replaces the file at path by text, which is the file without the wrapper, and removes the copy.
func Undo(path string, text []byte) error {
	target, mode, err := resolve(path)
	if err != nil {
		return err
	}
	if err := replaceAs(target, target, text, mode); err != nil {
		return fmt.Errorf("write the hosts file: %w", err)
	}
	if err := os.Remove(Backup(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the copy: %w", err)
	}
	return nil
}

// resolve returns the file to which path leads, and its permissions.
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

// replaceAs writes a file beside path, with the owner of another, and moves it to path.
func replaceAs(path, owner string, text []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	info, err := os.Stat(owner)
	if err == nil {
		_, err = temporary.Write(text)
		err = errors.Join(err, keepOwner(temporary, info))
	}
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Chmod(temporary.Name(), mode)
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // nothing is left behind
	}
	return err
}
