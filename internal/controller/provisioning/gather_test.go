package provisioning

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/translate"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// awaiting is a cloud in which the overlays of one pool are not evaluated yet.
type awaiting struct {
	cloud.Provider
	pool string
}

func (a awaiting) InstanceTypes(_ context.Context, pool *v1.NodePool) ([]*cloud.InstanceType, error) {
	if pool.Name == a.pool {
		return nil, cloud.NewUnevaluatedNodePoolError(pool.Name)
	}
	return []*cloud.InstanceType{{Name: "small"}}, nil
}

// TestPoolsThatAwaitEvaluationAreSkippedQuietly: other pools are used, and nothing is logged as an error.
func TestPoolsThatAwaitEvaluationAreSkippedQuietly(t *testing.T) {
	t.Attr("covers", "L368")
	w := fakecluster.New(t)
	for _, name := range []string{"early", "evaluated"} {
		pool := fakecluster.Pool()
		pool.Name = name
		set := condition.For(pool, w.Time.Now())
		set.True(v1.ConditionTypeValidationSucceeded)
		set.True(v1.ConditionTypeNodeClassReady)
		w.Add(pool)
	}
	w.Cloud.Provider = awaiting{pool: "early"}
	var log bytes.Buffer
	translator := translate.New(w.Cloud.Labels)
	p := &Provisioner{
		Deps: Deps{
			Shared: w.Shared, Translator: translator,
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		},
		catalogs: translate.NewCatalogs(translator),
		logged:   ttlcache.New[string, bool](w.Clock, repeatAfter),
	}
	var in problem.Input
	if err := p.builder().AddPools(t.Context(), &model.Snapshot{Resources: translator.Resources()}, &in); err != nil {
		t.Fatal(err)
	}
	if pools := in.Problem.Pools; len(pools) != 1 || pools[0].Name != "evaluated" || in.Pools.ByName["early"] != nil {
		t.Errorf("usable pools %v, want the evaluated one", pools)
	}
	p.logSkipped(t.Context(), in.Pools.Skipped)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], "level=DEBUG") || !strings.Contains(lines[0], "NodePool.name=early") {
		t.Errorf("logged %q, want one line for debugging", lines)
	}
}
