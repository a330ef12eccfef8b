package create_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/internal/controller/create"
)

func TestPlannedPods(t *testing.T) {
	t.Attr("covers", "N207")
	pod := func(name string) create.PlannedPod {
		return create.PlannedPod{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, UID: types.UID(name)}
	}
	p := &create.Planned{}
	p.Put("first", pod("b"), pod("a"), pod("moved"), pod("gone"))
	p.Put("second", pod("moved"))
	p.Keep(func(uid types.UID) bool { return uid != "gone" })
	for _, want := range [][]create.PlannedPod{{pod("a"), pod("b")}, nil} {
		if diff := cmp.Diff(want, p.Take("first")); diff != "" {
			t.Errorf("pods of the first NodeClaim (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]create.PlannedPod{pod("moved")}, p.Take("second")); diff != "" {
		t.Errorf("pods of the second NodeClaim (-want +got):\n%s", diff)
	}
	var none *create.Planned
	none.Put("x", pod("a"))
	none.Keep(func(types.UID) bool { return true })
	if got := none.Take("x"); got != nil {
		t.Errorf("got %v of nothing", got)
	}
}
