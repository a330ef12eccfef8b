package solve

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

func podWith(driver string, claims ...string) *model.Pod {
	p := &model.Pod{}
	for _, claim := range claims {
		p.Dependencies = model.NewDependencies(append(p.Attachments(), volume.Attachment{Driver: driver, Claim: claim}), nil)
	}
	return p
}

func TestAttachments(t *testing.T) {
	t.Attr("covers", "L284")
	for _, c := range []struct {
		name   string
		limits volume.Limits
		bound  []*model.Pod
		added  []*model.Pod
		ask    []*model.Pod
		want   int
	}{
		{"no limit is known", nil, []*model.Pod{podWith("d", "a")}, nil, []*model.Pod{podWith("d", "b"), podWith("d", "c")}, 2},
		{"bound pods count", volume.Limits{"d": 2}, []*model.Pod{podWith("d", "a")}, nil, []*model.Pod{podWith("d", "b"), podWith("d", "c")}, 1},
		{"added pods count", volume.Limits{"d": 2}, nil, []*model.Pod{podWith("d", "a")}, []*model.Pod{podWith("d", "b"), podWith("d", "c")}, 1},
		{"a shared claim counts once", volume.Limits{"d": 2}, []*model.Pod{podWith("d", "a")}, nil, []*model.Pod{podWith("d", "a"), podWith("d", "b"), podWith("d", "b")}, 3},
		{"a pod brings several", volume.Limits{"d": 3}, nil, nil, []*model.Pod{podWith("d", "a", "b"), podWith("d", "c", "d"), podWith("d", "e")}, 1},
		{"beyond the limit already", volume.Limits{"d": 1}, []*model.Pod{podWith("d", "a", "b")}, nil, []*model.Pod{podWith("d", "a"), {}, podWith("e", "x"), podWith("d", "c")}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := compile.Attachments{Node: &model.Node{Attachable: c.limits, Pods: c.bound}}
			a.Add(c.added)
			for range 2 {
				if got := a.Fits(c.ask); got != c.want {
					t.Errorf("%d fit, want %d", got, c.want)
				}
			}
		})
	}
}
