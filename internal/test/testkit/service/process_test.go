package service_test

import (
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// redis sends one line to a redis-server, and returns the answer.
func redis(t *testing.T, at, line string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("SELECT " + strings.TrimPrefix(u.Path, "/") + "\r\n" + line + "\r\nQUIT\r\n")); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for buffer := make([]byte, 1<<10); ; {
		n, err := conn.Read(buffer)
		all.Write(buffer[:n])
		if err != nil {
			return strings.ReplaceAll(strings.TrimSpace(all.String()), "\r\n", " ")
		}
	}
}

// Tests share one redis-server without seeing each other's data.
func TestRedis(t *testing.T) {
	t.Parallel()
	one, two := service.Redis(t), service.Redis(t)
	if got := redis(t, one, "SET a 1"); got != "+OK +OK +OK" {
		t.Errorf("SET: %s", got)
	}
	if got := redis(t, two, "GET a"); got != "+OK $-1 +OK" {
		t.Errorf("another database has the value: %s", got)
	}
}

func TestRedisStopsAndStarts(t *testing.T) {
	t.Parallel()
	s := service.NewRedis(t)
	redis(t, s.URL, "SET a 1")
	s.Pause(t)
	s.Resume(t)
	s.Stop()
	if got := redis(t, s.URL, "GET a"); !strings.Contains(got, "refused") {
		t.Errorf("stopped server: %s", got)
	}
	s.Start(t)
	if got := redis(t, s.URL, "GET a"); got != "+OK $-1 +OK" {
		t.Errorf("after a restart: %s", got)
	}
}

// psql runs a statement.
func psql(t *testing.T, at, statement string) string {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
	if err != nil || len(programs) == 0 {
		programs = []string{"psql"}
	}
	out, err := exec.Command(programs[0], "-At", at, "-c", statement).CombinedOutput()
	if err != nil {
		return err.Error() + ": " + string(out)
	}
	return strings.TrimSpace(string(out))
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	one, two := service.Postgres(t), service.Postgres(t)
	if got := psql(t, one, "create table a (n int); select 1"); !strings.HasSuffix(got, "1") {
		t.Errorf("create: %s", got)
	}
	if got := psql(t, two, "select count(*) from a"); !strings.Contains(got, "does not exist") {
		t.Errorf("another database has the value: %s", got)
	}
}

func TestPostgresStopsAndStarts(t *testing.T) {
	t.Parallel()
	s := service.NewPostgres(t)
	psql(t, s.URL, "create table a (n int); insert into a values (7)")
	s.Stop()
	if got := psql(t, s.URL, "select n from a"); !strings.Contains(got, "No such file") {
		t.Errorf("stopped server: %s", got)
	}
	s.Start(t)
	if got := psql(t, s.URL, "select n from a"); got != "7" {
		t.Errorf("after a restart: %s", got)
	}
	s.Kill(t)
	if got := psql(t, s.URL, "select n from a"); got != "7" {
		t.Errorf("after it was killed: %s", got)
	}
}
