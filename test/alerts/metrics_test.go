package alerts

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// reference is generated from the code and from what a started controller serves; a test of the program says so.
const reference = "../../docs/reference/metrics.md"

// series are what a metric is stored as: all of a counter or a gauge, or one part of a histogram or a summary.
type series struct {
	labels []string
	// counts says that the value only grows.
	counts bool
}

// metrics are the series of the reference by name.
func metrics(t *testing.T) map[string]series {
	t.Helper()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]series{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| (\\w+) \\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		name, kind := row[1], row[2]
		var labels []string
		for _, label := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[3], -1) {
			labels = append(labels, label[1])
		}
		switch kind {
		case "counter", "gauge":
			out[name] = series{labels, kind == "counter"}
			continue
		case "histogram":
			out[name+"_bucket"] = series{append(slices.Clone(labels), model.BucketLabel), true}
		case "summary":
			out[name] = series{append(slices.Clone(labels), model.QuantileLabel), false}
		default:
			t.Errorf("%s is a %s", name, kind)
		}
		out[name+"_sum"], out[name+"_count"] = series{labels, true}, series{labels, true}
	}
	if len(out) < 200 {
		t.Fatalf("%d series were found", len(out))
	}
	return out
}

// targetLabels are added to all series by Prometheus: cluster as an external label, the others by its service discovery.
var targetLabels = []string{"cluster", "job", "instance", "namespace", "pod"}

// unknown lists the metrics and labels of an expression that do not exist, and functions for the other kind of metric.
func unknown(expr parser.Expr, known map[string]series, added ...string) []string {
	var out, available []string
	var groupings [][]string
	parser.Inspect(expr, func(node parser.Node, above []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			metric, there := known[n.Name]
			if !there {
				out = append(out, fmt.Sprintf("there is no metric %q", n.Name))
			}
			labels := slices.Concat(metric.labels, added)
			available = append(available, labels...)
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel && !slices.Contains(labels, m.Name) {
					out = append(out, fmt.Sprintf("%s has no label %q", n.Name, m.Name))
				}
			}
			if change := measuresChange(above); there && metric.counts != change {
				out = append(out, fmt.Sprintf("%s counts: %t, but its change is measured: %t", n.Name, metric.counts, change))
			}
		case *parser.AggregateExpr:
			groupings = append(groupings, n.Grouping)
		}
		return nil
	})
	for _, name := range slices.Concat(groupings...) {
		if !slices.Contains(available, name) {
			out = append(out, fmt.Sprintf("no metric has the label %q", name))
		}
	}
	return out
}

// measuresChange says whether one of these expressions is a function for counters.
func measuresChange(above []parser.Node) bool {
	return slices.ContainsFunc(above, func(n parser.Node) bool {
		call, ok := n.(*parser.Call)
		return ok && slices.Contains([]string{"rate", "increase", "irate"}, call.Func.Name)
	})
}

// TestWrongExpressionsAreNoticed shows that the tests of alerts and dashboards can fail.
func TestWrongExpressionsAreNoticed(t *testing.T) {
	known := metrics(t)
	for text, want := range map[string]string{
		`karpenter_pods_waiting > 0`:                                         `there is no metric "karpenter_pods_waiting"`,
		`karpenter_nodepools_usage{pool="a"}`:                                `karpenter_nodepools_usage has no label "pool"`,
		`karpenter_nodepools_usage{cluster="a"}`:                             `karpenter_nodepools_usage has no label "cluster"`,
		`sum by (pool) (karpenter_nodepools_usage)`:                          `no metric has the label "pool"`,
		`rate(karpenter_nodepools_usage[1m])`:                                `karpenter_nodepools_usage counts: false, but its change is measured: true`,
		`sum(karpenter_nodes_created_total)`:                                 `karpenter_nodes_created_total counts: true, but its change is measured: false`,
		`rate(karpenter_nodeclaims_termination_duration_seconds_bucket[1m])`: "",
		`karpenter_pods_startup_duration_seconds{quantile="0.5"}`:            "",
		`karpenter_nodes_allocatable{zone="a",node_name="b"}`:                "",
	} {
		if got := strings.Join(unknown(parse(t, text), known), "; "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func parse(t *testing.T, text string) parser.Expr {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return expr
}
