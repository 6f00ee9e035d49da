//go:build unix

package upstream

import "os"

// createTemp returns a file that has no name, so that it is gone with this process.
func createTemp() (*os.File, error) {
	file, err := os.CreateTemp("", "recourse-answer-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func removeTemp(file *os.File) { _ = file.Close() }
