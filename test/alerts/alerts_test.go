package alerts

import (
	"log/slog"
	"os"
	"slices"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// ruleFile is what the chart and users of Prometheus alone take the alerts from.
const ruleFile = "../../charts/karpenter/alerts/karpenter.yaml"

// rules are the alerts, as Prometheus reads them: templates, labels and durations are valid, and it knows all keys.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(ruleFile)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var out []rulefmt.Rule
	for _, g := range groups.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

func TestAlertsCanBeReadAndAskForWhatThereIs(t *testing.T) {
	known := metrics(t)
	all := rules(t)
	if len(all) != 9 {
		t.Errorf("%d alerts were found", len(all))
	}
	var seen []string
	for _, r := range all {
		expr := parse(t, r.Expr)
		if expr.Type() != parser.ValueTypeVector {
			t.Errorf("%s is a %s, which nothing can be alerted of", r.Alert, expr.Type())
		}
		if r.Alert == "" || slices.Contains(seen, r.Alert) {
			t.Errorf("two alerts are called %q", r.Alert)
		}
		seen = append(seen, r.Alert)
		if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s has no severity, summary or description", r.Alert)
		}
		for _, what := range unknown(expr, known) {
			t.Errorf("%s: %s", r.Alert, what)
		}
	}
}
