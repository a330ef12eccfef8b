package compile

import (
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

const testZone = "topology.kubernetes.io/zone"

// constrained is a pod of an app with a number of thousandths of a core that prefers a zone and to be away from its app.
func constrained(uid, app, zone string, cpu int64) *model.Pod {
	same := topology.NewSelector(requirement.NewSet(requirement.New("app", requirement.In, app)))
	return &model.Pod{UID: uid, Labels: &model.Labels{Namespace: "a", Values: map[string]string{"app": app}}, Shape: &model.Shape{
		Requests:   resource.Vector{cpu},
		Preferred:  []model.Preference{{Weight: 1, Terms: requirement.NewSet(requirement.New(testZone, requirement.In, zone))}},
		Affinities: []topology.Affinity{{Key: HostnameKey, Anti: true, Weight: 1, Selector: same, Namespaces: []string{"a"}}},
	}}
}

// TestEqualConstraintsAreShared: classes share the constraints of their levels if they differ in requests only.
func TestEqualConstraintsAreShared(t *testing.T) {
	first, bigger := constrained("1", "web", "a", 100), constrained("2", "web", "a", 200)
	elsewhere, other := constrained("3", "web", "b", 100), constrained("4", "db", "a", 100)
	r := NewRun(Problem{Pods: []*model.Pod{first, bigger, elsewhere, other}})
	want := r.Classes.Of(first)
	if len(want.Levels) != 3 || len(want.Levels[0].Hosts) != 1 || want.Final != want.Levels[2] {
		t.Fatalf("there are %d levels, want one with both preferences, one with the zone and one without", len(want.Levels))
	}
	for _, pod := range []*model.Pod{bigger, elsewhere, other} {
		c := r.Classes.Of(pod)
		if c == want || len(c.Levels) != 3 || c.Final != c.Levels[2] || len(c.tiers) != 3 {
			t.Fatalf("pod %s: want another class with three levels", pod.UID)
		}
		for i, lv := range c.Levels {
			if lv.Class != c || lv == want.Levels[i] || lv.Variants[0] == want.Levels[i].Variants[0] {
				t.Errorf("pod %s, level %d: want what is tried to be remembered for each class", pod.UID, i)
			}
			if shared := lv.LevelConstraints == want.Levels[i].LevelConstraints; shared != (pod == bigger) {
				t.Errorf("pod %s, level %d: the constraints are shared: %v", pod.UID, i, shared)
			}
		}
	}
	if zone := r.Classes.Of(elsewhere).Levels[0].Set.Get(testZone).Values(); !slices.Equal(zone, []string{"b"}) {
		t.Errorf("the pod that prefers zone b is placed in %v first", zone)
	}
}

// TestDecidedLabelsAreOfOneClass: a label of which one class needs a domain does not constrain classes with equal constraints.
func TestDecidedLabelsAreOfOneClass(t *testing.T) {
	first, bigger := constrained("1", "web", "a", 100), constrained("2", "web", "a", 200)
	r := NewRun(Problem{Pods: []*model.Pod{first, bigger}})
	r.Classes.Of(first).decide(r.Classes.Universe.Key(testZone))
	if c := r.Classes.Of(first); c.Levels[0].Plain() || c.Levels[2].Plain() {
		t.Error("the class chooses no domain of the label that is decided")
	}
	later := constrained("3", "web", "a", 300)
	for _, pod := range []*model.Pod{bigger, later} {
		if c := r.Classes.Of(pod); !c.Levels[0].Plain() || !c.Levels[2].Plain() || c.Pinned {
			t.Errorf("pod %s: the class chooses a domain of a label that it need not decide", pod.UID)
		}
	}
}
