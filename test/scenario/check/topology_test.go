package check

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// zonesSubject is pods a and b on a new node each, in zone a and zone b, and pod old on a node in zone a. None has constraints.
func zonesSubject() Subject {
	instanceType := &cloud.InstanceType{
		Name:         "two",
		Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, "two"), cloud.In(corev1.LabelTopologyZone, "a", "b")},
		Capacity:     list("2"),
	}
	for _, zone := range []string{"a", "b"} {
		instanceType.Offerings = append(instanceType.Offerings, cloud.Offering{
			Price: 0.5, Available: true, Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelTopologyZone, zone)},
		})
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old", UID: "old", Labels: map[string]string{"app": "old"}}, Spec: corev1.PodSpec{NodeName: "node"}}
	s := Subject{
		Objects: []client.Object{&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}, node, old},
		Types:   map[string][]*cloud.InstanceType{"pool": {instanceType}},
	}
	for _, zone := range []string{"a", "b"} {
		pod := waiting(zone, "1500m")
		pod.Labels = map[string]string{"app": zone, "all": "yes"}
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.NodePoolLabelKey: "pool"}}}
		claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, "two"), cloud.In(corev1.LabelTopologyZone, zone)}
		claim.Spec.Resources.Requests = list("2")
		s.Objects = append(s.Objects, pod)
		s.Claims = append(s.Claims, Claim{Object: claim, Pods: []types.UID{types.UID(zone)}, Price: 0.5, Cheapest: "two"})
	}
	return s
}

// podOf is a pod of the subject.
func podOf(s *Subject, name string) *corev1.Pod {
	for _, o := range s.Objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Name == name {
			return pod
		}
	}
	return nil
}

// anyZone lets the node of a claim be in any zone.
func anyZone(s *Subject, claim int) {
	s.Claims[claim].Object.Spec.Requirements = s.Claims[claim].Object.Spec.Requirements[:1]
}

// inZone puts the node of a claim into a zone.
func inZone(s *Subject, claim int, zone string) {
	anyZone(s, claim)
	s.Claims[claim].Object.Spec.Requirements = append(s.Claims[claim].Object.Spec.Requirements, cloud.In(corev1.LabelTopologyZone, zone))
}

func term(key, label, value string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}}}
}

func withAntiAffinity(pod *corev1.Pod, terms []corev1.PodAffinityTerm) {
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
}

func withAffinity(pod *corev1.Pod, terms []corev1.PodAffinityTerm) {
	pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
}

func spreadAll(s *Subject, key string, edits ...func(*corev1.TopologySpreadConstraint)) {
	for _, name := range []string{"a", "b"} {
		c := corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"all": "yes"}},
		}
		for _, edit := range edits {
			edit(&c)
		}
		podOf(s, name).Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c}
	}
}

// spreadBesideTaint puts pod a onto the node, beside a pod that counts. Only pod b, which is not placed, tolerates the taint of the pool.
func spreadBesideTaint(s *Subject) {
	spreadAll(s, corev1.LabelTopologyZone)
	podOf(s, "old").Labels["all"] = "yes"
	s.Objects[0].(*v1.NodePool).Spec.Template.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	s.Objects[1].(*corev1.Node).Status.Allocatable = list("2")
	podOf(s, "b").Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	s.Claims, s.Placements = nil, []Placement{{Node: "node", Pods: []types.UID{"a"}}}
}

// agentOf is a DaemonSet of zone a whose pods have the label app.
func agentOf(s *Subject, app string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: podOf(s, "a").Namespace}}
	set.Spec.Template.Labels = map[string]string{"app": app}
	set.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
	return set
}

// TestJudgeChecksTopology: valid plans have no violations, and each violation is found.
func TestJudgeChecksTopology(t *testing.T) {
	const zone = corev1.LabelTopologyZone
	for _, c := range []struct {
		name  string
		build func(*Subject)
		want  string // empty for valid plans
	}{
		{"no constraints", func(*Subject) {}, ""},
		{"anti-affinity by zone", func(s *Subject) { withAntiAffinity(podOf(s, "a"), term(zone, "app", "b")) }, ""},
		{"in one zone", func(s *Subject) { withAntiAffinity(podOf(s, "a"), term(zone, "app", "b")); inZone(s, 1, "a") }, "violate anti-affinity"},
		{"in one zone perhaps", func(s *Subject) { withAntiAffinity(podOf(s, "a"), term(zone, "app", "b")); anyZone(s, 1) }, "pod a on claim 1 and pod b on claim 2"},
		{"anti-affinity of a running pod", func(s *Subject) { withAntiAffinity(podOf(s, "old"), term(zone, "app", "a")) }, "pod a on claim 1 and pod old on node"},
		{"anti-affinity of a running pod of another namespace", func(s *Subject) {
			withAntiAffinity(podOf(s, "old"), term(zone, "app", "a"))
			podOf(s, "old").Namespace = "other"
		}, ""},
		{"anti-affinity of a terminating pod", func(s *Subject) {
			withAntiAffinity(podOf(s, "old"), term(zone, "app", "a"))
			podOf(s, "old").DeletionTimestamp = &metav1.Time{}
		}, ""},
		{"anti-affinity to all namespaces", func(s *Subject) {
			terms := term(zone, "app", "a")
			terms[0].NamespaceSelector = &metav1.LabelSelector{}
			withAntiAffinity(podOf(s, "old"), terms)
			podOf(s, "old").Namespace = "other"
		}, "violate anti-affinity"},
		{"affinity to a running pod", func(s *Subject) { withAffinity(podOf(s, "a"), term(zone, "app", "old")) }, ""},
		{"affinity to a running pod elsewhere", func(s *Subject) { withAffinity(podOf(s, "b"), term(zone, "app", "old")) }, "pod b on claim 2 violates affinity"},
		{"affinity to a running pod, zone not decided", func(s *Subject) { withAffinity(podOf(s, "a"), term(zone, "app", "old")); anyZone(s, 0) }, "pod a on claim 1 violates affinity"},
		{"affinity to no pod", func(s *Subject) { withAffinity(podOf(s, "a"), term(zone, "app", "none")) }, "violates affinity"},
		{"the first of its kind", func(s *Subject) { withAffinity(podOf(s, "a"), term(zone, "app", "a")) }, ""},
		{"not the first of its kind", func(s *Subject) {
			withAffinity(podOf(s, "b"), term(zone, "app", "b"))
			podOf(s, "old").Labels["app"] = "b"
		}, "violates affinity"},
		{"two first ones", func(s *Subject) {
			withAffinity(podOf(s, "a"), term(zone, "all", "yes"))
			withAffinity(podOf(s, "b"), term(zone, "all", "yes"))
		}, "violate affinity to each other"},
		{"two first ones that could not join", func(s *Subject) {
			for _, name := range []string{"a", "b"} {
				withAffinity(podOf(s, name), term(zone, "all", "yes"))
				podOf(s, name).Spec.NodeSelector = map[string]string{zone: name}
			}
		}, "violate affinity to each other"},
		{"affinity by a label that may be missing", func(s *Subject) { withAffinity(podOf(s, "a"), term("rack", "app", "a")) }, "may have no label rack"},
		{"spread evenly", func(s *Subject) { spreadAll(s, zone) }, ""},
		{"spread unevenly", func(s *Subject) { spreadAll(s, zone); inZone(s, 1, "a") }, "2 pods in topology.kubernetes.io/zone a, 0 in another"},
		{"spread unevenly, where pods of a DaemonSet count, which may be anywhere", func(s *Subject) {
			spreadAll(s, zone)
			inZone(s, 1, "a")
			set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: podOf(s, "a").Namespace}}
			set.Spec.Template.Labels = map[string]string{"all": "yes"}
			s.Objects = append(s.Objects, set)
		}, ""},
		{"spread as evenly as the pool allows", func(s *Subject) {
			spreadAll(s, zone)
			inZone(s, 1, "a")
			s.Objects[0].(*v1.NodePool).Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In(zone, "a")}
		}, ""},
		{"spread with what runs already", func(s *Subject) {
			spreadAll(s, zone)
			podOf(s, "old").Labels["all"] = "yes"
		}, ""},
		{"spread with too much that runs already", func(s *Subject) {
			spreadAll(s, zone)
			podOf(s, "old").Labels["all"] = "yes"
			inZone(s, 1, "a")
		}, "3 pods in"},
		{"spread over the nodes that are there, as no pod needs one of the pool", func(s *Subject) { spreadBesideTaint(s); s.Ignored = []types.UID{"b"} }, ""},
		{"spread over the nodes that are there, although a pod needs one of the pool", func(s *Subject) { spreadBesideTaint(s); s.Refused = []types.UID{"b"} }, "2 pods in"},
		{"spread over more zones than there are", func(s *Subject) {
			spreadAll(s, zone, func(c *corev1.TopologySpreadConstraint) { n := int32(3); c.MinDomains = &n })
		}, ""},
		{"spread over more zones than there are, two in one", func(s *Subject) {
			spreadAll(s, zone, func(c *corev1.TopologySpreadConstraint) { n := int32(3); c.MinDomains = &n })
			inZone(s, 1, "a")
		}, "maxSkew 1"},
		{"spread over zones that are not decided", func(s *Subject) { spreadAll(s, zone); anyZone(s, 0) }, "the value of the node is not decided"},
		{"preferences", func(s *Subject) {
			spreadAll(s, zone, func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway })
			inZone(s, 1, "a")
		}, ""},
		{"spread over nodes", func(s *Subject) { spreadAll(s, corev1.LabelHostname) }, ""},
		{"spread over nodes, two on one", func(s *Subject) {
			spreadAll(s, corev1.LabelHostname)
			for _, name := range []string{"a", "b"} {
				podOf(s, name).Spec.Containers[0].Resources.Requests = list("500m")
				delete(podOf(s, name).Spec.Containers[0].Resources.Requests, corev1.ResourcePods)
			}
			s.Claims = s.Claims[:1]
			s.Claims[0].Pods = []types.UID{"a", "b"}
		}, "2 pods in kubernetes.io/hostname"},
		{"refused although it fits", func(s *Subject) { s.Claims, s.Refused = s.Claims[:1], []types.UID{"b"} }, "pod b is refused, but would fit"},
		{"refused because of anti-affinity of a running pod", func(s *Subject) {
			s.Claims, s.Refused = s.Claims[:1], []types.UID{"b"}
			withAntiAffinity(podOf(s, "old"), term(zone, "app", "b"))
			podOf(s, "b").Spec.NodeSelector = map[string]string{zone: "a"}
		}, ""},
		{"refused although another zone satisfies anti-affinity", func(s *Subject) {
			s.Claims, s.Refused = s.Claims[:1], []types.UID{"b"}
			withAntiAffinity(podOf(s, "old"), term(zone, "app", "b"))
		}, "pod b is refused"},
		{"refused although another zone has fewer", func(s *Subject) {
			s.Claims, s.Refused = s.Claims[:1], []types.UID{"b"}
			spreadAll(s, zone)
		}, "pod b is refused"},
		{"refused because of affinity to no pod", func(s *Subject) {
			s.Claims, s.Refused = s.Claims[:1], []types.UID{"b"}
			withAffinity(podOf(s, "b"), term(zone, "app", "none"))
		}, ""},
		{"refused because a pod of a DaemonSet that its affinity selects may start elsewhere", func(s *Subject) {
			s.Claims, s.Refused = s.Claims[:1], []types.UID{"b"}
			withAffinity(podOf(s, "b"), term(corev1.LabelHostname, "app", "b"))
			s.Objects = append(s.Objects, agentOf(s, "b"))
		}, ""},
		{"refused although pods of the DaemonSet that its affinity selects may start in its zone only", func(s *Subject) {
			s.Claims, s.Refused = s.Claims[:1], []types.UID{"b"}
			withAffinity(podOf(s, "b"), term(zone, "app", "b"))
			s.Objects = append(s.Objects, agentOf(s, "b"))
		}, "pod b is refused"},
		{"refused because pods on a node that is being deleted do not keep another zone from being the emptiest", func(s *Subject) {
			inZone(s, 0, "b")
			spreadAll(s, zone)
			podOf(s, "old").Labels["all"] = "yes"
			s.Objects[1].(*corev1.Node).DeletionTimestamp = &metav1.Time{}
			withAntiAffinity(podOf(s, "old"), term(zone, "app", "b")) // so that zone b is left
			s.Claims, s.Refused, s.Ignored = s.Claims[:1], []types.UID{"b"}, []types.UID{"old"}
		}, ""},
		{"refused although the target of its affinity runs", func(s *Subject) {
			s.Claims, s.Refused = s.Claims[:1], []types.UID{"b"}
			withAffinity(podOf(s, "b"), term(zone, "app", "old"))
		}, "pod b is refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := zonesSubject()
			c.build(&s)
			errs := Judge(s)
			if c.want == "" {
				for _, err := range errs {
					t.Errorf("violations of a valid plan: %v", err)
				}
				return
			}
			for _, err := range errs {
				if strings.Contains(err.Error(), c.want) {
					return
				}
			}
			t.Errorf("want %q among %v", c.want, errs)
		})
	}
}
