// Package charts checks the Helm chart in deploy/kubernetes, in a module of its own: Helm is large.
package charts_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const deploy = "../../deploy/kubernetes/"

var update = flag.Bool("update", false, "render the manifests anew")

// render does what `helm template` does. The error says which values make no sense.
func render(t *testing.T, values map[string]any) (string, error) {
	t.Helper()
	chart, err := loader.Load(deploy + "chart")
	if err != nil {
		t.Fatal(err)
	}
	if err := chart.Validate(); err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, values,
		chartutil.ReleaseOptions{Name: "recourse", Namespace: "recourse", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	strict := engine.Engine{Strict: true}
	files, err := strict.Render(chart, all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text := strings.TrimSpace(files[name]); text != "" && !strings.HasSuffix(name, ".tpl") {
			fmt.Fprintf(&b, "---\n%s\n", text)
		}
	}
	return b.String(), nil
}

func example(t *testing.T) (values map[string]any) {
	t.Helper()
	text, err := os.ReadFile(deploy + "values-example.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(text, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// The chart passes `helm lint`. That it has no icon, its one remark, is no fault.
func TestLint(t *testing.T) {
	for _, m := range lint.All(deploy+"chart", example(t), "recourse", true).Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

// monitor and rules are the objects of the Prometheus operator, as far as the chart has them.
type (
	meta struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	}
	kind struct {
		Version string `json:"apiVersion"`
		Kind    string `json:"kind"`
	}
	monitor struct {
		kind `json:",inline"`

		Metadata meta `json:"metadata"`
		Spec     struct {
			JobLabel  string         `json:"jobLabel"`
			Selector  map[string]any `json:"selector"`
			Endpoints []struct {
				Port     string `json:"port"`
				Interval string `json:"interval"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	rules struct {
		kind `json:",inline"`

		Metadata meta           `json:"metadata"`
		Spec     map[string]any `json:"spec"`
	}
)

// The committed manifests are what the chart renders, and each of them has only what its kind has in the API of Kubernetes.
func TestManifests(t *testing.T) {
	got, err := render(t, example(t))
	if err != nil {
		t.Fatal(err)
	}
	const head = "# What the chart renders with values-example.yaml, for those who do not use Helm: replace names and servers.\n"
	got = head + got
	if *update {
		if err := os.WriteFile(deploy+"recourse.yaml", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(deploy + "recourse.yaml")
	if err != nil || string(want) != got {
		t.Errorf("recourse.yaml is not what the chart renders (%v): go test ./tools/charts -update\n%s", err, got)
	}
	kinds := map[string]any{
		"ConfigMap": &core.ConfigMap{}, "Service": &core.Service{}, "Deployment": &apps.Deployment{},
		"PodDisruptionBudget": &policy.PodDisruptionBudget{}, "HorizontalPodAutoscaler": &autoscaling.HorizontalPodAutoscaler{},
		"NetworkPolicy": &networking.NetworkPolicy{}, "ServiceMonitor": &monitor{}, "PrometheusRule": &rules{},
	}
	seen := map[string]bool{}
	for _, object := range strings.Split(got, "\n---\n")[1:] {
		var of kind
		if err := yaml.Unmarshal([]byte(object), &of); err != nil {
			t.Fatal(err)
		}
		seen[of.Kind] = true
		if err := yaml.UnmarshalStrict([]byte(object), kinds[of.Kind]); err != nil {
			t.Errorf("%s: %v\n%s", of.Kind, err, object)
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("got %v", seen)
	}
	deployment, _ := kinds["Deployment"].(*apps.Deployment)
	if grace := *deployment.Spec.Template.Spec.TerminationGracePeriodSeconds; grace < 10+30 {
		t.Errorf("calls under way are cut off: %d s", grace)
	}
	var source map[string]any
	alerts, err := os.ReadFile(deploy + "../prometheus/alerts.yaml")
	if err == nil {
		err = yaml.Unmarshal(alerts, &source)
	}
	if rules, _ := kinds["PrometheusRule"].(*rules); err != nil || !reflect.DeepEqual(rules.Spec, source) {
		t.Errorf("the rules are not those of deploy/prometheus: %v", err)
	}
}

// The chart refuses values that make no sense, and says which.
func TestNonsense(t *testing.T) {
	for text, want := range map[string]string{
		"replicas: 0":                                  "replicas",
		"replicas: two":                                "replicas",
		"replica: 2":                                   "replica",
		"config: {listen: 127.0.0.1:1}":                "listen",
		"config: {store: 'sqlite:/tmp/x.db'}":          "store",
		"sessionKey: {secret: ''}":                     "sessionKey",
		"store: {secret: 'postgres://u:p@h/d'}":        "store",
		"shutdownDelay: -1":                            "shutdownDelay",
		"shutdownDelay: 5s":                            "shutdownDelay",
		"env: [{name: A-B, secret: a, key: b}]":        "env",
		"env: [{name: A, value: hunter2}]":             "env",
		"service: {port: 70000}":                       "port",
		"disruption: {maxUnavailable: 0}":              "maxUnavailable",
		"autoscaling: {enabled: true, min: 9, max: 3}": "autoscaling.max is less",
	} {
		values := example(t)
		var wrong map[string]any
		if err := yaml.Unmarshal([]byte(text), &wrong); err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, chartutil.MergeTables(wrong, values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	if _, err := render(t, nil); err == nil {
		t.Error("the chart was rendered without servers")
	}
	if text, err := render(t, chartutil.MergeTables(map[string]any{"store": map[string]any{"secret": ""}}, example(t))); err != nil ||
		strings.Contains(text, "RECOURSE_STORE") {
		t.Errorf("without a store: %v", err)
	}
}
