package alerts

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/teststorage"
)

// values are those of labels that expressions name; other labels have two.
var values = map[string][]string{
	"type": {"Launched", "Registered", "Initialized", "Ready"}, "status": {"True", "False"}, "resource_type": {"cpu", "memory"},
	"quantile": {"0.5", "0.9", "0.99"}, "phase": {"Proposed", "Expired"}, "le": {"0.1", "1", "+Inf"}, "capacity_type": {"spot", "on-demand"}, "reason": {"empty", "underutilized", "drifted"},
}

// TestExpressionsCanBeEvaluated evaluates alerts and queries over random series of all metrics, for two clusters with two NodePools: sides of an
// operator match, and there is a result.
func TestExpressionsCanBeEvaluated(t *testing.T) {
	store := teststorage.New(t)
	t.Cleanup(func() { _ = store.Close() })
	start := time.Unix(0, 0).Add(24 * time.Hour)
	fill(t, store, start, metrics(t))
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{})})
	t.Cleanup(func() { _ = engine.Close() })
	expressions := map[string]string{}
	for _, r := range rules(t) {
		expressions["alert "+r.Alert] = strings.NewReplacer(" > 0.9", "", " > 3600", "", " > 0.1", "", " > 0", "", " == 0", "").Replace(r.Expr)
	}
	all, _ := boards(t)
	for name, b := range all {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				expressions[name+": "+p.Title+" "+q.RefID] = strings.ReplaceAll(grafana.Replace(q.Expr), "offset 1d", "offset 1h")
			}
		}
	}
	for _, where := range slices.Sorted(maps.Keys(expressions)) {
		query, err := engine.NewInstantQuery(t.Context(), store, nil, expressions[where], start.Add(2*time.Hour))
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		result := query.Exec(t.Context())
		if vector, err := result.Vector(); err != nil || len(vector) == 0 {
			t.Errorf("%s: %d series, %v: %s", where, len(vector), err, expressions[where])
		}
		query.Close()
	}
}

// fill stores two hours of series with growing values.
func fill(t *testing.T, store *teststorage.TestStorage, start time.Time, all map[string]series) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		appender := store.Appender(t.Context())
		seen := map[string]bool{}
		for range 60 {
			set := []string{model.MetricNameLabel, name, "job", "karpenter", "instance", "one", "pod", "karpenter-1", "cluster", pick(r, "cluster")}
			for _, label := range all[name].labels {
				set = append(set, label, pick(r, label))
			}
			ls := labels.FromStrings(set...)
			if seen[ls.String()] {
				continue
			}
			seen[ls.String()] = true
			factor := float64(1 + r.IntN(5))
			for at := time.Duration(0); at <= 2*time.Hour; at += time.Minute {
				if _, err := appender.Append(0, ls, start.Add(at).UnixMilli(), factor*(1+at.Minutes())); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := appender.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

func pick(r *rand.Rand, label string) string {
	of, named := values[label]
	if !named {
		of = []string{fmt.Sprintf("%s-a", label), fmt.Sprintf("%s-b", label)}
	}
	return of[r.IntN(len(of))]
}
