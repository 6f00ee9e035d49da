//go:build !unix

package upstream

import "os"

// createTemp returns a file that is gone after removeTemp.
func createTemp() (*os.File, error) { return os.CreateTemp("", "recourse-answer-") }

func removeTemp(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}
