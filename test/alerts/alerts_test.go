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
	"go.yaml.in/yaml/v3"
)

// The pages: one shows alerts, the other is generated from the code and lists metrics with their labels.
const (
	page      = "../../docs/metrics.md"
	reference = "../../docs/reference/metrics.md"
)

// group is a group of rules as Prometheus reads it.
type group struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

// rule is one alert.
type rule struct {
	Alert  string            `yaml:"alert"`
	Expr   string            `yaml:"expr"`
	For    string            `yaml:"for"`
	Labels map[string]string `yaml:"labels"`
	Notes  map[string]string `yaml:"annotations"`
}

// rules are the alerts of a page. A key that Prometheus does not know is an error.
func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []rule
	for i, part := range strings.Split(string(text), "\n```") {
		block, isYAML := strings.CutPrefix(part, "yaml\n")
		if i%2 == 0 || !isYAML {
			continue
		}
		var file struct {
			Groups []group `yaml:"groups"`
		}
		decoder := yaml.NewDecoder(strings.NewReader(block))
		decoder.KnownFields(true)
		if err := decoder.Decode(&file); err != nil {
			t.Fatalf("%v\n%s", err, block)
		}
		for _, g := range file.Groups {
			out = append(out, g.Rules...)
		}
	}
	return out
}

// metrics are the labels of every metric of the reference. Of a histogram, the names of its series are there too.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\w+) \\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		var names []string
		for _, label := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[3], -1) {
			names = append(names, label[1])
		}
		out[row[1]] = names
		if row[2] == "histogram" || row[2] == "summary" {
			out[row[1]+"_sum"], out[row[1]+"_count"] = names, names
			out[row[1]+"_bucket"] = append(slices.Clone(names), "le")
		}
	}
	return out
}

// unknown lists the metrics and labels of an expression that do not exist.
func unknown(expr parser.Expr, known map[string][]string) []string {
	var out, available []string
	var groupings [][]string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			names, there := known[n.Name]
			if !there {
				out = append(out, fmt.Sprintf("there is no metric %q", n.Name))
			}
			available = append(available, names...)
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel && !slices.Contains(names, m.Name) {
					out = append(out, fmt.Sprintf("%s has no label %q", n.Name, m.Name))
				}
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

func TestAlertsCanBeReadAndAskForWhatThereIs(t *testing.T) {
	known := metrics(t)
	if len(known) < 80 {
		t.Fatalf("%d metrics were found", len(known))
	}
	all := rules(t)
	if len(all) < 5 {
		t.Fatalf("%d alerts were found", len(all))
	}
	var seen []string
	for _, r := range all {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		if err != nil {
			t.Errorf("%s: %v", r.Alert, err)
			continue
		}
		if expr.Type() != parser.ValueTypeVector {
			t.Errorf("%s is a %s, which nothing can be alerted of", r.Alert, expr.Type())
		}
		if _, err := model.ParseDuration(r.For); r.For != "" && err != nil {
			t.Errorf("%s: %v", r.Alert, err)
		}
		if r.Alert == "" || slices.Contains(seen, r.Alert) {
			t.Errorf("two alerts are called %q", r.Alert)
		}
		seen = append(seen, r.Alert)
		for _, what := range unknown(expr, known) {
			t.Errorf("%s: %s", r.Alert, what)
		}
	}
}

// TestWrongAlertsAreNoticed shows that the test above can fail.
func TestWrongAlertsAreNoticed(t *testing.T) {
	known := metrics(t)
	for text, want := range map[string]string{
		`karpenter_pods_waiting > 0`:                                         `there is no metric "karpenter_pods_waiting"`,
		`karpenter_nodepools_usage{pool="a"}`:                                `karpenter_nodepools_usage has no label "pool"`,
		`sum by (pool) (karpenter_nodepools_usage)`:                          `no metric has the label "pool"`,
		`rate(karpenter_nodeclaims_termination_duration_seconds_bucket[1m])`: "",
	} {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(unknown(expr, known), "; "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
