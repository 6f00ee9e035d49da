//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// composition is the content of compose.yaml.
type composition struct {
	Name     string               `yaml:"name"`
	Services map[string]container `yaml:"services"`
	Volumes  map[string]struct{}  `yaml:"volumes"`
}

type container struct {
	Build struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
	} `yaml:"build"`
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Ports       []string          `yaml:"ports"`
	Environment map[string]string `yaml:"environment"`
	Volumes     []string          `yaml:"volumes"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition,required"`
	} `yaml:"depends_on"`
	Health struct {
		Test     []string `yaml:"test,required"`
		Interval string   `yaml:"interval"`
	} `yaml:"healthcheck"`
	ReadOnly bool     `yaml:"read_only"`
	Tmpfs    []string `yaml:"tmpfs"`
	CapDrop  []string `yaml:"cap_drop"`
	Grace    string   `yaml:"stop_grace_period"`
	Restart  string   `yaml:"restart"`
}

// inDeploy returns the path of a file in deploy.
func inDeploy(name string) string {
	return filepath.Join("..", "..", "deploy", filepath.FromSlash(name))
}

func readDeployed(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(inDeploy(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := strictyaml.Decode(name, text, v); err != nil {
		t.Fatal(err)
	}
}

// The files that compose.yaml names exist, the variables of the configuration are set, ports are published to this
// machine only, and the configuration is valid.
func TestCompose(t *testing.T) {
	var c composition
	readDeployed(t, "compose.yaml", &c)
	for name, s := range c.Services {
		if (s.Image == "") == (s.Build.Dockerfile == "") || s.Image != "" && !regexp.MustCompile(`^[a-z/]+:v?\d[\w.-]*$`).MatchString(s.Image) {
			t.Errorf("%s: image %q", name, s.Image)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s to all machines", name, port)
			}
		}
		for on, when := range s.DependsOn {
			other, ok := c.Services[on]
			if !ok || when.Condition != "service_started" && (when.Condition != "service_healthy" || other.Health.Test == nil) {
				t.Errorf("%s depends on %s: %s", name, on, when.Condition)
			}
		}
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, named := c.Volumes[from]; named {
				continue
			}
			if _, err := os.Stat(inDeploy(from)); err != nil {
				t.Errorf("%s mounts a missing file: %v", name, err)
			}
		}
	}
	gateway := c.Services["gateway"]
	if _, err := os.Stat(inDeploy(gateway.Build.Context + "/" + gateway.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(inDeploy("recourse.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllSubmatch(text, -1) {
		if _, set := gateway.Environment[string(variable[1])]; !set {
			t.Errorf("compose.yaml does not set %s", variable[1])
		}
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "recourse"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), cli.Environment{
		Args: []string{"serve", "--check", "-c", inDeploy("recourse.yaml")}, Stdout: &stdout, Stderr: &stderr,
		LookupEnv: func(name string) (string, bool) { value, ok := gateway.Environment[name]; return value, ok },
	})
	if code != cli.ExitOK {
		t.Errorf("%d %s %s", code, &stdout, &stderr)
	}
}

// Prometheus scrapes the gateway and loads the rules; Grafana has Prometheus and the dashboard.
func TestComposeIsWired(t *testing.T) {
	t.Parallel()
	var c composition
	readDeployed(t, "compose.yaml", &c)
	var gateway map[string]any
	readDeployed(t, "recourse.yaml", &gateway)
	var prometheus struct {
		Global  map[string]string `yaml:"global"`
		Rules   []string          `yaml:"rule_files"`
		Scraped []struct {
			Job string `yaml:"job_name"`
			DNS []struct {
				Names []string `yaml:"names"`
				Type  string   `yaml:"type"`
				Port  int      `yaml:"port"`
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	readDeployed(t, "prometheus/prometheus.yaml", &prometheus)
	job := prometheus.Scraped[0]
	_, known := c.Services[job.DNS[0].Names[0]]
	if admin, _ := gateway["admin"].(string); job.Job != "recourse" || job.DNS[0].Port != 9464 || !strings.HasSuffix(admin, ":9464") || !known {
		t.Errorf("%+v does not scrape %v", job, admin)
	}
	for _, rules := range prometheus.Rules {
		if _, err := os.Stat(inDeploy("prometheus/" + rules)); err != nil {
			t.Error(err)
		}
	}
	if !slices.Contains(c.Services["prometheus"].Command, "--config.file=/etc/prometheus/prometheus.yaml") {
		t.Errorf("got command %q for Prometheus", c.Services["prometheus"].Command)
	}
	var sources struct {
		Version int              `yaml:"apiVersion"`
		Sources []map[string]any `yaml:"datasources"`
	}
	readDeployed(t, "grafana/provisioning/datasources/prometheus.yaml", &sources)
	if sources.Sources[0]["url"] != "http://prometheus:9090" {
		t.Errorf("%v", sources)
	}
	var boards struct {
		Version   int `yaml:"apiVersion"`
		Providers []struct {
			Name    string            `yaml:"name"`
			Type    string            `yaml:"type"`
			Options map[string]string `yaml:"options"`
		} `yaml:"providers"`
	}
	readDeployed(t, "grafana/provisioning/dashboards/recourse.yaml", &boards)
	mounted := "./grafana/recourse.json:" + boards.Providers[0].Options["path"] + "/recourse.json:ro"
	if !slices.Contains(c.Services["grafana"].Volumes, mounted) {
		t.Errorf("no volume for the dashboard: %q", c.Services["grafana"].Volumes)
	}
	text, err := os.ReadFile(inDeploy("grafana/recourse.json"))
	if err != nil || !json.Valid(text) {
		t.Errorf("%v", err)
	}
}

// The manifests for Kubernetes have a valid configuration, whose variables are set, and the alerts of Prometheus.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(inDeploy("kubernetes/recourse.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, manifest, _ := bytes.Cut(text, []byte("  recourse.yaml: |\n"))
	manifest, _, _ = bytes.Cut(manifest, []byte("\n---\n"))
	file := filepath.Join(t.TempDir(), "recourse.yaml")
	if err := os.WriteFile(file, bytes.ReplaceAll(append([]byte("\n"), manifest...), []byte("\n    "), []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"RECOURSE_SESSION_KEY": strings.Repeat("k", 32), "FARM_TOKEN": "t",
		"RECOURSE_STORE": "postgres://u:p@127.0.0.1:1/d", "RECOURSE_REDIS": "redis://127.0.0.1:1",
	}
	for name := range values {
		if !bytes.Contains(text, []byte("- name: "+name+"\n")) {
			t.Errorf("the deployment does not set %s", name)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := cli.Run(t.Context(), cli.Environment{
		Args: []string{"serve", "--check", "-c", file}, Stdout: &stdout, Stderr: &stderr,
		LookupEnv: func(name string) (string, bool) { value, ok := values[name]; return value, ok },
	}); code != cli.ExitOK {
		t.Errorf("%d %s %s", code, &stdout, &stderr)
	}
	alerts, err := os.ReadFile(inDeploy("prometheus/alerts.yaml"))
	indented := bytes.ReplaceAll(bytes.TrimSpace(alerts), []byte("\n"), []byte("\n  "))
	if err != nil || !bytes.Contains(text, indented) {
		t.Errorf("the manifests lack the alerts of deploy/prometheus: make charts (%v)", err)
	}
}

// systemd accepts the unit, and finds little to object to.
func TestUnit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		testkit.LeaveOut(t, errors.New("systemd-analyze is not installed"))
	}
	text, err := os.ReadFile(inDeploy("systemd/recourse.service"))
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "recourse.service")
	there := bytes.Replace(text, []byte("ExecStart=/usr/bin/recourse"), []byte("ExecStart=/bin/true"), 1)
	if err := os.WriteFile(unit, there, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", unit).CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Errorf("%v\n%s", err, said)
	}
	said, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=20", unit).CombinedOutput()
	if err != nil && !bytes.Contains(said, []byte("unrecognized option")) { // before version 250
		t.Errorf("%v\n%s", err, said)
	}
}

// The chart is of the version that the changelog has last: a release has both.
func TestChartHasTheVersion(t *testing.T) {
	t.Parallel()
	changes, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	chart, err := os.ReadFile(inDeploy("kubernetes/chart/Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	last := regexp.MustCompile(`(?m)^## (\d\S+) - `).FindSubmatch(changes)
	if last == nil {
		t.Fatal("the changelog has no version")
	}
	if !bytes.Contains(chart, []byte("\nversion: "+string(last[1])+"\nappVersion: v"+string(last[1])+"\n")) {
		t.Errorf("the changelog has %q, and the chart is\n%s", last, chart)
	}
}
