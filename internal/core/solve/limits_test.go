package solve

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

func TestOpenNodesCountAgainstTheNodeLimit(t *testing.T) {
	t.Attr("covers", "L206")
	p := pool("default", instanceType("small", 4, 16, 0.10))
	p.Limits = map[int]int64{resource.Nodes: 2}
	plan := Solve(problem(pods(5, shape(3000, gi)), p))
	if len(plan.NodeClaims) != 2 {
		t.Fatalf("%d claims, want 2: the limit holds within one batch", len(plan.NodeClaims))
	}
	if n := len(plan.Unschedulable[0].Pods); n != 3 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.NodesExhausted {
		t.Errorf("%d pods unschedulable for %v, want 3 for the node limit", n, plan.Unschedulable[0].Reasons)
	}
}

// TestHugeNodesExhaustALimit: nodes report what they like, and the sum of a few exceeds an int64.
func TestHugeNodesExhaustALimit(t *testing.T) {
	p := pool("default", instanceType("small", 4, 16, 0.10))
	p.Limits = map[int]int64{resource.CPU: 20_000}
	question := problem(pods(1, shape(3000, gi)), p)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		n := &model.Node{ID: name, Name: name, Pool: "default", Managed: true, Deleting: false}
		n.Capacity = resource.Vector{}.Set(resource.CPU, 1<<61)
		question.Nodes = append(question.Nodes, n)
	}
	plan := Solve(question)
	if len(plan.NodeClaims) != 0 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.LimitsExceeded {
		t.Errorf("%d claims beyond the limit, unschedulable: %v", len(plan.NodeClaims), plan.Unschedulable)
	}
}

func TestAnOpenNodeIsChargedWithItsLargestCandidateOnly(t *testing.T) {
	p := pool("default", instanceType("small", 4, 16, 0.10), instanceType("large", 16, 64, 0.50))
	p.Limits = map[int]int64{resource.CPU: 20_000}
	plan := Solve(problem(pods(2, shape(3000, gi)), p))
	for _, c := range plan.NodeClaims {
		if len(c.InstanceTypes) == 0 {
			t.Errorf("claim without candidates: %+v", c)
		}
	}
	worst := int64(0)
	sizes := map[string]int64{"small": 4000, "large": 16000}
	for _, c := range plan.NodeClaims {
		most := int64(0)
		for _, name := range c.InstanceTypes {
			most = max(most, sizes[name])
		}
		worst += most
	}
	if worst > 20_000 {
		t.Errorf("the plan may add %dm of CPU, the limit is 20", worst)
	}
	if len(plan.Unschedulable) != 0 {
		t.Errorf("unschedulable: %v", plan.Unschedulable[0].Reasons)
	}
}

func TestUsageOfExistingNodesCounts(t *testing.T) {
	t.Attr("covers", "L205")
	p := pool("default", instanceType("small", 4, 16, 0.10))
	p.Limits = map[int]int64{resource.CPU: 8000}
	in := problem(pods(3, shape(3000, gi)), p)
	in.Nodes = []*model.Node{{ID: "n", Name: "n", Pool: "default", Launched: true, Capacity: resource.Vector{4000}}}
	plan := Solve(in)
	if len(plan.NodeClaims) != 1 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.LimitsExceeded {
		t.Errorf("%d claims, unschedulable %v; want one claim and the limit", len(plan.NodeClaims), plan.Unschedulable)
	}
}

// onItsWay is a requested node, of which only the requests and the requirements are known.
func onItsWay(zones ...string) *model.Node {
	return &model.Node{
		ID: "nodeclaim/a", Name: "a", ClaimName: "a", Managed: true, Pool: "default",
		Requirements: requirement.NewSet(requirement.New(zoneKey, requirement.In, zones...)),
		Capacity:     resource.Vector{4000, 8 * gi, 10}, Allocatable: resource.Vector{4000, 8 * gi, 10},
	}
}

func TestARequestedNodeTakesPodsThatFitWhateverIsLaunched(t *testing.T) {
	inZoneA := shape(1000, gi)
	inZoneA.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a"))
	for name, c := range map[string]struct {
		node *model.Node
		want int
	}{
		"the zone is sure":              {onItsWay("zone-a"), 1},
		"the zone may be another":       {onItsWay("zone-a", "zone-b"), 0},
		"the zone is certainly another": {onItsWay("zone-b"), 0},
	} {
		in := problem(pods(1, inZoneA), pool("default", instanceType("small", 4, 16, 0.10)))
		in.Nodes = []*model.Node{c.node}
		if got := len(Solve(in).Placements); got != c.want {
			t.Errorf("%s: %d placements, want %d", name, got, c.want)
		}
	}
}

func TestStopEndsWithWhatIsPlaced(t *testing.T) {
	t.Attr("covers", "L128")
	asked := 0
	in := problem(append(pods(1, shape(2000, gi)), pods(1, shape(1000, gi))...), pool("default", instanceType("small", 4, 16, 0.10)))
	in.Options.Stop = func() bool { asked++; return asked > 1 }
	plan := Solve(in)
	if len(plan.NodeClaims) != 1 || len(plan.Undecided) != 1 || len(plan.Unschedulable) != 0 {
		t.Errorf("%d claims, %d undecided, %d unschedulable; want 1, 1, 0", len(plan.NodeClaims), len(plan.Undecided), len(plan.Unschedulable))
	}
}

func TestDaemonsReserveCapacityOnTheNodesTheyRunOn(t *testing.T) {
	small, large := instanceType("small", 4, 16, 0.10), instanceType("large", 8, 32, 0.21)
	onlyLarge := shape(2000, gi)
	onlyLarge.Selector = requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "large"))
	in := problem(pods(1, shape(3500, gi)), pool("default", small, large))
	in.DaemonSets = []*model.DaemonSet{{Namespace: "kube-system", Name: "agent", Shape: onlyLarge}}
	plan := Solve(in)
	if got := plan.NodeClaims[0].Requests.At(resource.CPU); got != 3500 {
		t.Errorf("requests %dm, want 3500m: the small candidate has no daemon", got)
	}
	in = problem(pods(1, shape(3500, gi)), pool("default", small, large))
	in.DaemonSets = []*model.DaemonSet{{Namespace: "kube-system", Name: "agent", Shape: shape(1000, gi)}}
	plan = Solve(in)
	if c := plan.NodeClaims[0]; c.Requests.At(resource.CPU) != 4500 || len(c.InstanceTypes) != 1 || c.InstanceTypes[0] != "large" {
		t.Errorf("requests %v on %v, want 4500m on the large node", c.Requests, c.InstanceTypes)
	}
}

func TestDiagnosisCountsWhatDaemonsTake(t *testing.T) {
	small, large := instanceType("small", 4, 16, 0.10), instanceType("large", 8, 32, 0.21)
	onlyLarge := shape(5000, gi)
	onlyLarge.Selector = requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "large"))
	for name, c := range map[string]struct {
		pod, daemon *model.Shape
		want        string
	}{
		"no daemon":            {shape(9000, gi), nil, `resources={"cpu":"9","memory":"1Gi","pods":"1"}`},
		"daemon on every node": {shape(7000, gi), shape(5000, gi), `resources={"cpu":"12","memory":"2Gi","pods":"2"}`},
		"daemon on some nodes": {shape(7000, gi), onlyLarge, `resources=min={"cpu":"7","memory":"1Gi","pods":"1"}, max={"cpu":"12","memory":"2Gi","pods":"2"}`},
	} {
		in := problem(pods(1, c.pod), pool("default", small, large))
		if c.daemon != nil {
			in.DaemonSets = []*model.DaemonSet{{Namespace: "kube-system", Name: "agent", Shape: c.daemon}}
		}
		plan := Solve(in)
		if len(plan.Unschedulable) != 1 || !strings.HasSuffix(plan.Unschedulable[0].Reasons.String(), c.want) {
			t.Errorf("%s: %+v, want it unschedulable with %s", name, plan.Unschedulable, c.want)
		}
	}
}

// TestLimitsUsedUp: the limits are used up exactly where the smallest pod gets no node, and the reason is that of the pod.
func TestLimitsUsedUp(t *testing.T) {
	one := &model.Node{ID: "one", Name: "one", Pool: "default", Managed: true, Deleting: true}
	one.Capacity = resource.Vector{}.Set(resource.CPU, 4000).Set(resource.Memory, 16*gi)
	for name, c := range map[string]struct {
		limits map[int]int64
		want   string
	}{
		"no limits":               {nil, ""},
		"enough of each":          {map[int]int64{resource.CPU: 8000, resource.Nodes: 2}, ""},
		"enough for one type":     {map[int]int64{resource.CPU: 8000, resource.Memory: 32 * gi}, ""},
		"all cores are used":      {map[int]int64{resource.CPU: 4000, resource.Memory: 100 * gi}, "LimitsExceeded cpu: limit 4, used or planned 4"},
		"too little is left":      {map[int]int64{resource.CPU: 7999}, "LimitsExceeded cpu: limit 7999m, used or planned 4"},
		"all nodes are there":     {map[int]int64{resource.CPU: 100_000, resource.Nodes: 1}, "NodesExhausted nodes: limit 1, used or planned 1"},
		"each for another type":   {map[int]int64{resource.CPU: 8000, resource.Memory: 28 * gi}, "LimitsExceeded cpu: limit 8, used or planned 4; memory: limit 28Gi, used or planned 16Gi"},
		"nothing is left of both": {map[int]int64{resource.CPU: 1000, resource.Memory: 4 * gi}, "LimitsExceeded cpu: limit 1, used or planned 4; memory: limit 4Gi, used or planned 16Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pool("default", instanceType("cores", 8, 8, 0.30), instanceType("memory", 4, 16, 0.20))
			p.Limits = c.limits
			question := problem(pods(1, shape(1, 1)), p)
			question.Nodes = []*model.Node{one}
			got := ""
			reason, usedUp := LimitsUsedUp(p, question.Nodes, question.Resources)
			if usedUp {
				got = string(reason.Code) + " " + reason.Detail()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			plan := Solve(question)
			if refused := len(plan.Unschedulable) > 0; refused != usedUp {
				t.Fatalf("used up: %t, the smallest pod is refused: %t", usedUp, refused)
			}
			if usedUp && plan.Unschedulable[0].Reasons[0].Code != reason.Code {
				t.Errorf("the pod is refused for %s", plan.Unschedulable[0].Reasons[0].Code)
			}
		})
	}
}
