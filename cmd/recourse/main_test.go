package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
)

// TestRootsWithoutASystem checks that servers can be verified where the system has no certificates, as in an image
// with nothing but the program.
func TestRootsWithoutASystem(t *testing.T) {
	t.Parallel()
	if os.Getenv("SSL_CERT_FILE") == os.DevNull {
		roots, err := x509.SystemCertPool()
		if err != nil || roots.Equal(x509.NewCertPool()) {
			t.Errorf("no roots: %v", err)
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRootsWithoutASystem$")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+os.DevNull, "SSL_CERT_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
