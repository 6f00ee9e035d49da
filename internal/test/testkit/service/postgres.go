package service

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	commonPostgres    = sync.OnceValues(starting(makePostgres))
	postgresDatabases atomic.Int64
)

// Postgres returns the URL of an empty database on a real PostgreSQL, which all tests of the process share.
// Without PostgreSQL, it skips the test; with CI=true that is a failure instead.
func Postgres(tb testing.TB) string {
	tb.Helper()
	p := installed(tb, commonPostgres)
	name := "test" + strconv.FormatInt(postgresDatabases.Add(1), 10)
	if err := p.createDatabase(name); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return postgresURL(p.dir, name)
}

// NewPostgres starts a PostgreSQL for one test, with an empty database, which the test may stop. Without
// PostgreSQL, it skips the test like [Postgres].
func NewPostgres(tb testing.TB) *Process {
	tb.Helper()
	return own(tb, makePostgres)
}

// makePostgres makes a cluster. It is not safe against a crash of the machine, and therefore faster.
func makePostgres() (*Process, error) {
	programs := postgresPrograms()
	if programs == "" {
		return nil, fmt.Errorf("PostgreSQL is %w", errNotInstalled)
	}
	p, err := newProcess("postgres")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(p.dir, "data")
	if err := p.run(filepath.Join(programs, "initdb"), "-D", data, "-U", "recourse", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	p.start = []string{
		filepath.Join(programs, "postgres"), "-D", data, "-k", p.dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "max_connections=200",
	}
	p.URL = postgresURL(p.dir, "recourse")
	created := false
	p.ready = func(p *Process) error {
		if created { // it starts again
			return p.run(filepath.Join(programs, "pg_isready"), "-h", p.dir, "-U", "recourse", "-d", "recourse", "-q")
		}
		err := p.createDatabase("recourse")
		created = err == nil
		return err
	}
	return p, nil
}

func postgresURL(dir, database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {dir}, "user": {"recourse"}}.Encode()
}

func (p *Process) createDatabase(name string) error {
	return p.run(filepath.Join(filepath.Dir(p.start[0]), "createdb"), "-h", p.dir, "-U", "recourse", name)
}

// run runs a program of the service's to its end.
func (p *Process) run(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = p.dir
	asUser(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, bytes.TrimSpace(out))
	}
	return nil
}

// postgresPrograms returns the folder of PostgreSQL's programs: the newest of Debian's, otherwise that of
// initdb; "" if there is none.
func postgresPrograms() string {
	newest, best := "", 0
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	for _, program := range found {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(program))))
		if err == nil && version > best {
			newest, best = filepath.Dir(program), version
		}
	}
	if newest != "" {
		return newest
	}
	program, err := exec.LookPath("initdb")
	if err != nil {
		return ""
	}
	return filepath.Dir(program)
}
