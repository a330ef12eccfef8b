package solve

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

const coresKey = "cloud.test/cores"

// steps is instance types with 2, 4, 8 and 16 cores, a label with that number, and a price in proportion.
func steps() []*catalog.InstanceType {
	var out []*catalog.InstanceType
	for _, cores := range []int64{2, 4, 8, 16} {
		it := instanceType("m"+strconv.FormatInt(cores, 10), cores, 4*cores, 0.1*float64(cores))
		out = append(out, with(it, requirement.New(coresKey, requirement.In, strconv.FormatInt(cores, 10))))
	}
	return out
}

// demanding is a pool of these instance types with minValues.
func demanding(reqs ...requirement.Requirement) *model.Pool {
	p := pool("default", steps()...)
	p.Requirements = p.Requirements.And(requirement.NewSet(reqs...))
	return p
}

func asked(p *model.Pool, pods []*model.Pod) Problem {
	in := problem(pods, p)
	in.Options.WellKnown = func(key string) bool { return key == coresKey || wellKnown(key) }
	return in
}

// TestMinValuesKeepTwoTypes: both pods would fit on the largest instance type, but then it would be the only one left.
func TestMinValuesKeepTwoTypes(t *testing.T) {
	t.Attr("covers", "L306")
	small, large := instanceType("small", 4, 16, 0.4), instanceType("large", 8, 32, 0.5)
	p := pool("default", small, large)
	together := Solve(problem(pods(2, shape(3000, gi)), p))
	if len(together.NodeClaims) != 1 || !slices.Equal(together.NodeClaims[0].InstanceTypes, []string{"large"}) {
		t.Fatalf("without the demand: %+v, want one large node", together.NodeClaims)
	}
	p.Requirements = p.Requirements.Add(requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(2))
	plan := Solve(problem(pods(2, shape(3000, gi)), p))
	if len(plan.NodeClaims) != 2 {
		t.Fatalf("%d claims, want two", len(plan.NodeClaims))
	}
	for _, c := range plan.NodeClaims {
		if !slices.Equal(c.InstanceTypes, []string{"small", "large"}) || c.Requirements.Get(instanceTypeKey).MinValues() != 2 || c.MinValuesRelaxed {
			t.Errorf("a claim lists %v with minValues %d", c.InstanceTypes, c.Requirements.Get(instanceTypeKey).MinValues())
		}
	}
}

func TestMinValues(t *testing.T) {
	t.Attr("covers", "L307 L308 L309 L311")
	cores := func(op requirement.Operator, least int, values ...string) requirement.Requirement {
		return requirement.New(coresKey, op, values...).WithMinValues(least)
	}
	types := func(least int) requirement.Requirement {
		return requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(least)
	}
	zones := func(least int, values ...string) requirement.Requirement {
		return requirement.New(zoneKey, requirement.In, values...).WithMinValues(least)
	}
	for _, c := range []struct {
		name string
		pool []requirement.Requirement
		cpu  int64 // of the only pod
		want []string
		// unmet is the keys that the reason names.
		unmet []string
	}{
		{"Gt leaves enough", []requirement.Requirement{cores(requirement.Gt, 2, "4")}, 500, []string{"m16", "m8"}, nil},
		{"Gt leaves too few", []requirement.Requirement{cores(requirement.Gt, 3, "4")}, 500, nil, []string{coresKey}},
		{"Lt leaves enough", []requirement.Requirement{cores(requirement.Lt, 2, "8")}, 500, []string{"m2", "m4"}, nil},
		{"Lt leaves too few", []requirement.Requirement{cores(requirement.Lt, 2, "4")}, 500, nil, []string{coresKey}},
		{"the pod's size leaves too few", []requirement.Requirement{cores(requirement.Exists, 2)}, 9000, nil, []string{coresKey}},
		{"the larger of In and NotIn holds", []requirement.Requirement{cores(requirement.In, 1, "2", "4", "8"), cores(requirement.NotIn, 2, "2")}, 500, []string{"m4", "m8"}, nil},
		{"the larger of In and NotIn is not met", []requirement.Requirement{cores(requirement.In, 3, "2", "4", "8"), cores(requirement.NotIn, 1, "2")}, 500, nil, []string{coresKey}},
		{"the larger of Gt and Lt is not met", []requirement.Requirement{cores(requirement.Gt, 1, "2"), cores(requirement.Lt, 3, "16")}, 500, nil, []string{coresKey}},
		{"two keys are met", []requirement.Requirement{cores(requirement.Gt, 2, "2"), types(3)}, 500, []string{"m16", "m4", "m8"}, nil},
		{"one of two keys is not met", []requirement.Requirement{cores(requirement.Gt, 2, "2"), types(4)}, 500, nil, []string{instanceTypeKey}},
		{"both are not met", []requirement.Requirement{cores(requirement.Gt, 4, "2"), types(4)}, 500, nil, []string{coresKey, instanceTypeKey}},
		{"too few types", []requirement.Requirement{types(5)}, 500, nil, []string{instanceTypeKey}},
		{"too few zones", []requirement.Requirement{zones(4, "zone-a", "zone-b", "zone-c", "zone-d")}, 500, nil, []string{zoneKey}},
		{"enough of both", []requirement.Requirement{types(4), zones(3, "zone-a", "zone-b", "zone-c")}, 500, []string{"m16", "m2", "m4", "m8"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Solve(asked(demanding(c.pool...), pods(1, shape(c.cpu, gi))))
			if c.want != nil {
				if diff := cmp.Diff(c.want, listed(t, plan)); diff != "" {
					t.Error(diff)
				}
				return
			}
			if len(plan.NodeClaims) != 0 || len(plan.Unschedulable) != 1 {
				t.Fatalf("%d claims and %d unschedulable, want the pod unschedulable", len(plan.NodeClaims), len(plan.Unschedulable))
			}
			why := plan.Unschedulable[0].Reasons
			text := "minValues requirement is not met for label(s) (label(s)=[" + strings.Join(c.unmet, " ") + "])"
			if why[0].Code != unschedulable.MinValuesUnmet || !slices.Equal(why[0].Keys, c.unmet) || !strings.Contains(why.String(), text) {
				t.Errorf("unschedulable for %s, want %s", why, text)
			}
		})
	}
}

// TestACutListThatFallsShortDropsTheNodeClaim: the two cheapest types have one number of cores between them.
func TestACutListThatFallsShortDropsTheNodeClaim(t *testing.T) {
	t.Attr("covers", "L310")
	twins := []*catalog.InstanceType{
		with(instanceType("a", 2, 8, 0.1), requirement.New(coresKey, requirement.In, "2")),
		with(instanceType("b", 2, 8, 0.2), requirement.New(coresKey, requirement.In, "2")),
		with(instanceType("c", 4, 16, 0.9), requirement.New(coresKey, requirement.In, "4")),
	}
	p := pool("default", twins...)
	p.Requirements = p.Requirements.Add(requirement.New(coresKey, requirement.Exists).WithMinValues(2))
	in := asked(p, pods(3, shape(500, gi)))
	if plan := Solve(in); len(plan.NodeClaims) != 1 || len(plan.NodeClaims[0].InstanceTypes) != 3 {
		t.Fatalf("uncut: %+v, want one claim of three types", plan.NodeClaims)
	}
	in.Options.MaxInstanceTypes = 2
	plan := Solve(in)
	if len(plan.NodeClaims) != 0 || unschedulablePods(plan) != 3 {
		t.Fatalf("%d claims and %d unschedulable pods, want none and 3", len(plan.NodeClaims), unschedulablePods(plan))
	}
	want := "pod didn’t schedule because NodePool couldn’t meet minValues requirements, validating minValues, minValues requirement is not met for label(s) (label(s)=[cloud.test/cores]) (NodePool=default)"
	if got := plan.Unschedulable[0].Reasons.String(); got != want {
		t.Errorf("unschedulable with\n%s, want\n%s", got, want)
	}
}
