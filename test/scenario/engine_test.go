package scenario

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

var update = flag.Bool("update", false, "rewrite the plans of the scenarios with what the engine does")

// customDomain is the domain of all custom labels and taints in scenarios.
const customDomain = "example.com/"

func TestScenarios(t *testing.T) {
	scenarios, err := scenariofile.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	reader, clouds := scenariorun.Reader(t), scenariorun.Clouds(t)
	for _, s := range scenarios {
		r := runner{reader: reader, cloud: clouds(s.Options.Catalog)}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			got := r.run(t, s, nil)
			if *update {
				rewrite(t, s, got)
				return
			}
			compare(t, "as written", s.Plan, got)
			r.judged = true
			compare(t, "a second time", s.Plan, r.run(t, s, nil))
			for seed := range uint64(3) {
				compare(t, "with its objects shuffled", s.Plan, r.run(t, s, rand.New(rand.NewPCG(seed, 1))))
			}
			for _, domain := range []string{"aaa.test/", "zzz.test/"} {
				renamed := s.Renamed(customDomain, domain)
				compare(t, "with labels renamed to "+domain, renamed.Plan, r.run(t, renamed, nil))
			}
		})
	}
}

func compare(t *testing.T, how, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the plan of the scenario %s (-want +got):\n%s", how, diff)
	}
}

func rewrite(t *testing.T, s scenariofile.Scenario, plan string) {
	t.Helper()
	text := s.WithPlan(plan)
	before, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(before, text) {
		return
	}
	if err := os.WriteFile(s.Path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// runner runs scenarios.
type runner struct {
	reader *manifest.Reader
	cloud  cloud.Cloud
	// judged is set once the plan is checked: equal plans need no second check.
	judged bool
}

// run runs a scenario and checks its plan. With a source of randomness the objects are shuffled first.
func (r runner) run(t *testing.T, s scenariofile.Scenario, shuffle *rand.Rand) string {
	t.Helper()
	objects := scenariorun.Objects(t, r.reader, s)
	if shuffle != nil {
		shuffle.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	}
	expanded := manifest.Expand(objects)
	if shuffle != nil {
		shuffle.Shuffle(len(expanded), func(i, j int) { expanded[i], expanded[j] = expanded[j], expanded[i] })
	}
	settings := scenariorun.Settings(t, s)
	before := deepCopies(expanded)
	result, err := simulation.Run(context.Background(), expanded, r.cloud, settings)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, expanded); diff != "" {
		t.Errorf("the run changed its input:\n%s", diff)
	}
	if r.judged {
		return result.Text()
	}
	judged := subject(t, expanded, r.cloud, result)
	judged.FewerValues = settings.BestEffortMinValues
	judged.DevicesIgnored = !settings.AllocateDevices
	judged.DefaultSpread = len(settings.DefaultSpread) > 0
	for _, err := range check.Judge(judged) {
		t.Errorf("the checker finds: %v", err)
	}
	return result.Text()
}

func deepCopies(objects []client.Object) []client.Object {
	out := make([]client.Object, len(objects))
	for i, o := range objects {
		out[i], _ = o.DeepCopyObject().(client.Object)
	}
	return out
}

// subject translates a result for the checker.
func subject(t *testing.T, objects []client.Object, c cloud.Cloud, r simulation.Result) check.Subject {
	t.Helper()
	s := check.Subject{
		Objects: objects, Types: map[string][]*cloud.InstanceType{}, StaticTypes: map[string][]*cloud.InstanceType{},
		WellKnown: c.Labels.WellKnown,
	}
	for _, k := range r.Buffers {
		s.Objects = append(slices.Clip(s.Objects), k.Objects()...)
	}
	provider := simulation.WithOverlays(context.Background(), objects, c)
	for _, o := range objects {
		pool, ok := o.(*v1.NodePool)
		if !ok {
			continue
		}
		skipped := slices.ContainsFunc(r.Skipped, func(s simulation.SkippedPool) bool { return s.Name == pool.Name })
		if skipped && pool.Spec.Replicas == nil {
			continue
		}
		types, err := provider.InstanceTypes(context.Background(), pool)
		if err != nil {
			t.Fatal(err)
		}
		if skipped {
			s.StaticTypes[pool.Name] = types
		} else {
			s.Types[pool.Name] = types
		}
	}
	answer(&s, r)
	return s
}

// answer adds the plan to s.
func answer(s *check.Subject, r simulation.Result) {
	for i, claim := range r.Plan.NodeClaims {
		s.Claims = append(s.Claims, check.Claim{Object: r.Claims[i], Pods: uids(claim.Pods), Price: claim.Price, Cheapest: claim.InstanceTypes[0]})
	}
	for _, p := range r.Plan.Placements {
		s.Placements = append(s.Placements, check.Placement{Node: p.Node.NodeName, Claim: p.Node.ClaimName, Pods: uids(p.Pods)})
	}
	for _, u := range r.Plan.Unschedulable {
		s.Refused = append(s.Refused, uids(u.Pods)...)
	}
	s.Ignored = uids(r.Rejected)
}

func uids(pods []*model.Pod) []types.UID {
	out := make([]types.UID, len(pods))
	for i, p := range pods {
		out[i] = types.UID(p.UID)
	}
	return out
}
