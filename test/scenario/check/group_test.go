package check

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// grouped is a valid plan whose pods a and b are a gang of two.
func grouped() Subject {
	s := right()
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang"}}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}
	s.Objects = append(s.Objects, group)
	for _, o := range s.Objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Name != "c" {
			pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("gang")}
		}
	}
	return s
}

func TestJudgeFindsViolationsOfGroups(t *testing.T) {
	if errs := Judge(grouped()); len(errs) > 0 {
		t.Fatalf("violations of a valid plan: %v", errs)
	}
	group := func(s *Subject) *schedulingv1beta1.PodGroupSpec {
		g, _ := s.Objects[len(s.Objects)-1].(*schedulingv1beta1.PodGroup)
		return &g.Spec
	}
	for want, spoil := range map[string]func(*Subject){
		"1 pods of group /gang run or are placed, which needs 2": func(s *Subject) { s.Placements, s.Refused = nil, append(s.Refused, "b") },
		"2 pods of group /gang are placed, which kube-scheduler does not consider": func(s *Subject) {
			group(s).Priority = ptr.To[int32](1)
		},
		"pod a is refused, but would fit a two of pool pool": func(s *Subject) {
			s.Claims, s.Placements, s.Refused = nil, nil, append(s.Refused, "a", "b")
		},
		"a pod of group /gang is on node, of which the value of topology.kubernetes.io/zone is not certain": func(s *Subject) {
			group(s).SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
				Topology: []schedulingv1beta1.TopologyConstraint{{Key: corev1.LabelTopologyZone}},
			}
		},
	} {
		s := grouped()
		spoil(&s)
		var all []string
		for _, err := range Judge(s) {
			all = append(all, err.Error())
		}
		if got := strings.Join(all, "\n"); !strings.Contains(got, want) {
			t.Errorf("violations %q, want %q", got, want)
		}
	}
	incomplete := grouped()
	group(&incomplete).SchedulingPolicy.Gang.MinCount = 3
	incomplete.Claims, incomplete.Placements, incomplete.Refused = nil, nil, append(incomplete.Refused, "a", "b")
	if errs := Judge(incomplete); len(errs) > 0 {
		t.Errorf("violations of a plan that refuses an incomplete gang: %v", errs)
	}
}
