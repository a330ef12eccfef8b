package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/embedded/controlplane"
	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// served returns the metric families of a controller that has launched a node, with leader election, in a cluster in memory. The controller is a
// process: the tests beside this one register metrics of libraries in theirs.
func served(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	plane, err := controlplane.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cluster := &demoCluster{ControlPlane: plane}
	cluster.ctx, cluster.cancel = context.WithCancelCause(t.Context())
	t.Cleanup(func() {
		if err := cluster.stop(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.prepare(); err != nil {
		t.Fatal(err)
	}
	p := launch(t, "karpenter", "controller", "--cloud-provider=kwok", "--kubeconfig="+cluster.kubeconfig(),
		"--leader-election-namespace=kube-system", "--metrics-port=0", "--health-probe-port=0")
	p.says("elected leader", 30*time.Second)
	play := &demo.Play{
		Settings: demo.Settings{Pods: 1, Catalog: "generic", PriceLabel: kwok.PriceLabel, Manifests: demoManifests()},
		Ctx:      cluster.ctx, Client: cluster.client, Show: demo.NewProgress(&strings.Builder{}, time.Now()),
	}
	if err := play.Pool(); err != nil {
		t.Fatal(err)
	}
	if _, err := play.Launch(1); err != nil {
		t.Fatal(err)
	}
	code, body := p.get("metrics", "/metrics")
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// goSettings is what the names of the metrics begin with that count the use of GODEBUG settings: one for each setting of a Go release.
const goSettings = "go_godebug_non_default_behavior_"

// writeServed adds a table of the families that a controller serves and that are not ours, and fails the test if there is one of ours without a
// definition, or with other labels.
func writeServed(t *testing.T, page *strings.Builder, ours []observe.Definition) {
	t.Helper()
	families := served(t)
	if len(families) < 150 {
		t.Fatalf("%d families are served", len(families))
	}
	defined := map[string][]string{}
	for _, d := range ours {
		defined[d.Name] = d.Labels
	}
	page.WriteString("\n## Libraries\n\nMetrics of controller-runtime, client-go, the Go runtime and the process. Many other controllers serve metrics with these names: select\nthose of this one by job.\n")
	page.WriteString("`" + goSettings + "SETTING_events_total` is one counter for each `GODEBUG` setting.\n")
	page.WriteString("\n| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(families)) {
		labels, known := defined[name]
		switch {
		case known:
			for _, label := range labelsOf(families[name]) {
				if !slices.Contains(labels, label) && !slices.Contains(labels, "node_name") {
					t.Errorf("%s is served with the label %s, which its definition lacks", name, label)
				}
			}
		case strings.HasPrefix(name, "karpenter_"), strings.HasPrefix(name, "operator_"):
			t.Errorf("%s is served and has no definition", name)
		case strings.HasPrefix(name, goSettings):
		default:
			writeFamily(page, families[name])
		}
	}
}

// writeFamily adds a row.
func writeFamily(page *strings.Builder, f *dto.MetricFamily) {
	labels := "–"
	if all := labelsOf(f); len(all) > 0 {
		labels = "`" + strings.Join(all, "`, `") + "`"
	}
	meaning, _, _ := strings.Cut(strings.ReplaceAll(f.GetHelp(), "\n", " "), ". ")
	meaning = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(strings.TrimSuffix(meaning, "."))
	fmt.Fprintf(page, "| `%s` | %s | %s | %s. |\n", f.GetName(), strings.ToLower(f.GetType().String()), labels, meaning)
}

// labelsOf are the labels of all series of a family, in the order of names.
func labelsOf(f *dto.MetricFamily) []string {
	all := map[string]bool{}
	for _, series := range f.GetMetric() {
		for _, label := range series.GetLabel() {
			all[label.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
