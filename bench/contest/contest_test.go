package contest

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// input has one instance type of 4 CPUs: spot in zone a for 1, on demand in zone b for 2.
func input() Input {
	offer := func(zone, kind string, price float64) cloud.Offering {
		return cloud.Offering{Price: price, Available: true, Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelTopologyZone, zone), cloud.In(v1.CapacityTypeLabelKey, kind),
		}}
	}
	return Input{
		Cloud: cloud.Cloud{Labels: v1.CoreLabelRules()},
		Types: []*cloud.InstanceType{{
			Name: "m",
			Requirements: []v1.NodeSelectorRequirementWithMinValues{
				cloud.In(corev1.LabelInstanceTypeStable, "m"), cloud.In(corev1.LabelTopologyZone, "a", "b"),
				cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeSpot, v1.CapacityTypeOnDemand),
			},
			Capacity:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
			Offerings: []cloud.Offering{offer("a", v1.CapacityTypeSpot, 1), offer("b", v1.CapacityTypeOnDemand, 2)},
		}},
		Pods: make([]*corev1.Pod, 3),
	}
}

func claim(cpu string, requirements ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	c := &v1.NodeClaim{}
	c.Spec.Requirements = requirements
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return c
}

func TestPriceTakesTheCheapestCompatibleOfferingOfEachClaim(t *testing.T) {
	answer := Answer{Claims: []*v1.NodeClaim{claim("4"), claim("1", cloud.In(corev1.LabelTopologyZone, "b"))}}
	got, err := Price(input(), answer)
	if err != nil || got != 3 {
		t.Errorf("the price is %v, %v; want 3", got, err)
	}
}

func TestPriceRefusesClaimsThatCannotBeLaunched(t *testing.T) {
	for _, c := range []*v1.NodeClaim{claim("5"), claim("1", cloud.In(corev1.LabelTopologyZone, "c"))} {
		_, err := Price(input(), Answer{Claims: []*v1.NodeClaim{claim("1"), c}})
		if err == nil || !strings.Contains(err.Error(), "claim 2 of 2") {
			t.Errorf("the error is %v; want one about claim 2 of 2", err)
		}
	}
}

// scripted answers with one claim for two pods, or fails.
type scripted struct{ err error }

func (s scripted) Solve() error { return s.err }

func (s scripted) Answer() (Answer, error) {
	return Answer{Claims: []*v1.NodeClaim{claim("1")}, Placed: 2}, nil
}

func TestMeasurePreparesEveryRunAnew(t *testing.T) {
	prepared := 0
	c := Contestant{Name: "scripted", Prepare: func(Input) (Run, error) { prepared++; return scripted{}, nil }}
	got, err := Measure(c, input(), Effort{Runs: 3, Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if prepared != 3 || got.Runs != 3 || got.Nodes != 1 || got.DollarsPerHour != 1 || got.Unplaced != 1 {
		t.Errorf("after %d preparations the score is %+v", prepared, got)
	}
	prepared = 0
	if got, err := Measure(c, input(), Effort{Runs: 3}); err != nil || got.Runs != 1 || prepared != 1 {
		t.Errorf("without a budget there were %d runs, %v; want 1", got.Runs, err)
	}
}

func TestMeasureReportsFailures(t *testing.T) {
	cause := errors.New("no answer")
	for _, prepare := range []func(Input) (Run, error){
		func(Input) (Run, error) { return nil, cause },
		func(Input) (Run, error) { return scripted{cause}, nil },
	} {
		if _, err := Measure(Contestant{Name: "broken", Prepare: prepare}, input(), Effort{Runs: 1}); !errors.Is(err, cause) {
			t.Errorf("the error is %v; want %v", err, cause)
		}
	}
}

func TestMemoryIsTheMostOfOneRun(t *testing.T) {
	if now, _ := resident(); now == 0 {
		t.Log("this system does not report how much memory a process holds")
		return
	}
	const mib = 1 << 20
	hungry := func(bytes int) Contestant {
		return Contestant{Name: "hungry", Prepare: func(Input) (Run, error) { return &eater{bytes: bytes}, nil }}
	}
	for _, want := range []uint64{256 * mib, 64 * mib} {
		score, err := Measure(hungry(int(want)), input(), Effort{Runs: 1})
		if err != nil {
			t.Fatal(err)
		}
		if used := score.PeakResident - score.InputResident; used < want-16*mib || used > want+48*mib {
			t.Errorf("a run that fills %d MiB is said to take %d MiB", want/mib, used/mib)
		}
	}
}

// eater fills some memory and drops it.
type eater struct {
	scripted
	bytes int
	sum   int
}

func (e *eater) Solve() error {
	eaten := bytes.Repeat([]byte{1}, e.bytes)
	e.sum = int(eaten[len(eaten)/2])
	return nil
}

func TestMedian(t *testing.T) {
	if got := median([]uint64{9, 1, 5}); got != 5 {
		t.Errorf("the median is %d, want 5", got)
	}
}
