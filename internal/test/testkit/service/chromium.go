package service

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var commonChromium = sync.OnceValues(starting(makeChromium))

// Chromium returns the DevTools URL of a real Chromium, which all tests of the process share: package browser
// opens tabs in it. Without a Chromium, it skips the test; with CI=true that is a failure instead.
func Chromium(tb testing.TB) string {
	tb.Helper()
	return installed(tb, commonChromium).URL
}

// makeChromium makes a browser with a profile of its own, which makes no connections by itself. It has no
// sandbox: the tests may run as root, and the pages are ours.
func makeChromium() (*Process, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("chromium is %w", errNotInstalled)
	}
	p, err := newProcess("chromium")
	if err != nil {
		return nil, err
	}
	profile := filepath.Join(p.dir, "profile")
	p.start = []string{
		"env", "HOME=" + p.dir, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--force-color-profile=srgb", "--hide-scrollbars", "--remote-debugging-port=0", "--user-data-dir=" + profile, "about:blank",
	}
	p.ready = func(p *Process) error {
		text, err := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
		if err != nil {
			return fmt.Errorf("find the browser's port: %w", err)
		}
		port, path, complete := strings.Cut(strings.TrimSpace(string(text)), "\n")
		if !complete {
			return errNoPort
		}
		p.URL = "ws://127.0.0.1:" + port + path
		return nil
	}
	return p, nil
}

var errNoPort = errors.New("the browser has not said where it listens")
