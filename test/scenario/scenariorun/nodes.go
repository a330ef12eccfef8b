package scenariorun

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/condition"
	kwokv1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// What nodes and pods have unless their line says otherwise.
const (
	defaultPool   = "default"
	defaultZone   = "test-zone-a"
	defaultQuiet  = 10 * time.Minute
	defaultCPU    = "100m"
	defaultMemory = "64Mi"
)

// doNotDisrupt is how a line says that its node or pod has the annotation of that name.
const doNotDisrupt = "do-not-disrupt"

// Node is one line of a nodes file, with the pods below it.
type Node struct {
	Name string
	// Pool is the name of the NodePool, Type that of the instance type; empty in a later file for nodes that exist.
	Pool, Type, Zone, CapacityType string
	// Reservation is the ID of the capacity reservation of the node; empty for none.
	Reservation string
	// Quiet is how long ago the last pod event was.
	Quiet time.Duration
	// Drifted is set for nodes that their pool would launch differently today, DriftedFor since when they are.
	Drifted    bool
	DriftedFor time.Duration
	// Protected is set for the annotation karpenter.sh/do-not-disrupt, Gone for nodes that disappear.
	Protected, Gone bool
	// NotReady, NotInitialized and Rebooting are set for such nodes. A node that reboots is not initialized.
	NotReady, NotInitialized, Rebooting bool
	// Unhealthy are the types of conditions that have the status True, and since when. NotReadyFor is how long the node is not ready.
	Unhealthy   map[corev1.NodeConditionType]time.Duration
	NotReadyFor time.Duration
	// NoRepair is set for the annotation karpenter.sh/do-not-repair.
	NoRepair bool
	// GracePeriod is the terminationGracePeriod of the NodeClaim; 0 for none.
	GracePeriod time.Duration
	Pods        []Pod
}

// Pod is one indented line of a nodes file: a running pod.
type Pod struct {
	Name, Node string
	// App is the value of the label app.
	App string
	// CPU and Memory are requests.
	CPU, Memory string
	// DoNotDisrupt is the value of the annotation karpenter.sh/do-not-disrupt, DisruptionCost that of karpenter.sh/disruption-cost, DeletionCost
	// that of the deletion cost.
	DoNotDisrupt, DisruptionCost, DeletionCost string
	// Daemon is set for pods of a DaemonSet.
	Daemon bool
	// Zone is the zone that the pod selects; empty for any.
	Zone string
	// Nodes are the names of the nodes that the pod may run on, each in a term with matchFields; empty for any.
	Nodes []string
	// Near is the value of the label app of the pods in whose zone the pod has to run; empty for none.
	Near string
	// PreferredAnti is the value of the label app of the pods whose nodes the pod prefers to avoid; empty for none.
	PreferredAnti string
	// Group is the name of the pod's PodGroup; empty for none.
	Group string
}

// ParseNodes reads a nodes file: one node a line, "name type=c-2x-amd64-linux pool=default zone=test-zone-a capacity=spot reservation=cr-a
// quiet=10m drifted=1h grace=1h do-not-disrupt do-not-repair not-ready not-initialized unhealthy=KWOKUnhealthy/10m gone", and below it its pods, indented, "name cpu=100m
// memory=64Mi app=web zone=test-zone-a nodes=a,b near=db group=train disruption-cost=5 deletion-cost=-1 do-not-disrupt=true daemon". Only names are mandatory.
func ParseNodes(text string) ([]Node, error) {
	var out []Node
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if strings.HasPrefix(line, " ") {
			if len(out) == 0 {
				return nil, fmt.Errorf("pod %q is on no node", words[0])
			}
			into := &out[len(out)-1]
			p := Pod{Name: words[0], Node: into.Name, App: words[0], CPU: defaultCPU, Memory: defaultMemory}
			if err := setAll(p.set, words[1:]); err != nil {
				return nil, fmt.Errorf("pod %q: %w", p.Name, err)
			}
			into.Pods = append(into.Pods, p)
			continue
		}
		n := Node{Name: words[0], Pool: defaultPool, Zone: defaultZone, CapacityType: v1.CapacityTypeOnDemand, Quiet: defaultQuiet}
		if err := setAll(n.set, words[1:]); err != nil {
			return nil, fmt.Errorf("node %q: %w", n.Name, err)
		}
		out = append(out, n)
	}
	return out, nil
}

// setAll calls set with each word up to the first that is wrong.
func setAll(set func(word string) error, words []string) error {
	for _, word := range words {
		if err := set(word); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) set(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "pool":
		n.Pool = value
	case "type":
		n.Type = value
	case "zone":
		n.Zone = value
	case "capacity":
		n.CapacityType = value
	case "reservation":
		n.Reservation, n.CapacityType = value, v1.CapacityTypeReserved
	case "quiet":
		n.Quiet, err = time.ParseDuration(value)
	case "grace":
		n.GracePeriod, err = time.ParseDuration(value)
	case "drifted":
		if n.Drifted = true; value != "" {
			n.DriftedFor, err = time.ParseDuration(value)
		}
	case doNotDisrupt:
		n.Protected = true
	case "not-ready":
		if n.NotReady = true; value != "" {
			n.NotReadyFor, err = time.ParseDuration(value)
		}
	case "unhealthy":
		kind, since, _ := strings.Cut(value, "/")
		if n.Unhealthy == nil {
			n.Unhealthy = map[corev1.NodeConditionType]time.Duration{}
		}
		n.Unhealthy[corev1.NodeConditionType(kind)], err = time.ParseDuration(since)
	case "do-not-repair":
		n.NoRepair = true
	case "not-initialized":
		n.NotInitialized = true
	case "rebooting":
		n.Rebooting = true
	case "gone":
		n.Gone = true
	default:
		err = fmt.Errorf("unknown word %q", word)
	}
	return err
}

func (p *Pod) set(word string) error {
	key, value, has := strings.Cut(word, "=")
	switch key {
	case "cpu":
		p.CPU = value
	case "memory":
		p.Memory = value
	case "app":
		p.App = value
	case "zone":
		p.Zone = value
	case "nodes":
		p.Nodes = strings.Split(value, ",")
	case "near":
		p.Near = value
	case "preferred-anti":
		p.PreferredAnti = value
	case "group":
		p.Group = value
	case "disruption-cost":
		p.DisruptionCost = value
	case "deletion-cost":
		p.DeletionCost = value
		if _, err := strconv.Atoi(value); err != nil {
			return err
		}
	case doNotDisrupt:
		if p.DoNotDisrupt = "true"; has {
			p.DoNotDisrupt = value
		}
	case "daemon":
		p.Daemon = true
	default:
		return fmt.Errorf("unknown word %q", word)
	}
	return nil
}

// Objects are the Node and the NodeClaim of a node at a moment, as they are once it is initialized. The pool is the one that the
// node belongs to, types what the cloud lists.
func (n Node) Objects(pool *v1.NodePool, types []*cloud.InstanceType, now time.Time) (*corev1.Node, *v1.NodeClaim) {
	labels := map[string]string{
		v1.NodePoolLabelKey: n.Pool, corev1.LabelInstanceTypeStable: n.Type, corev1.LabelTopologyZone: n.Zone,
		v1.CapacityTypeLabelKey: n.CapacityType,
	}
	if n.Reservation != "" {
		labels[reservationLabel] = n.Reservation
	}
	var capacity, allocatable corev1.ResourceList
	for _, it := range types {
		if it.Name != n.Type {
			continue
		}
		for _, r := range it.Requirements {
			if _, set := labels[r.Key]; !set && r.Key != reservationLabel && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
				labels[r.Key] = r.Values[0]
			}
		}
		capacity, allocatable = it.CapacityOf(&it.Offerings[0]), it.AllocatableOf(&it.Offerings[0])
	}
	if capacity == nil {
		capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}
		allocatable = capacity
		labels[corev1.LabelArchStable], labels[corev1.LabelOSStable] = "amd64", "linux"
	}
	claim := n.claim(pool, labels, capacity, allocatable, now)
	return n.node(claim, now), claim
}

func (n Node) claim(pool *v1.NodePool, labels map[string]string, capacity, allocatable corev1.ResourceList, now time.Time) *v1.NodeClaim {
	ref := pool.Spec.Template.Spec.NodeClassRef
	claim := &v1.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: v1.SchemeGroupVersion.String(), Kind: "NodeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name, UID: types.UID(n.Name + "-claim"), Labels: labels, Finalizers: []string{v1.TerminationFinalizer},
			Annotations: map[string]string{
				v1.NodePoolHashAnnotationKey: pool.Hash(), v1.NodePoolHashVersionAnnotationKey: v1.NodePoolHashVersion, kwokLabel: "fake",
			},
			CreationTimestamp: metav1.NewTime(now.Add(-max(n.Quiet, n.DriftedFor, time.Hour))),
		},
		Spec: v1.NodeClaimSpec{
			NodeClassRef: ref,
			Requirements: []v1.NodeSelectorRequirementWithMinValues{cloud.In(v1.NodePoolLabelKey, n.Pool)},
		},
		Status: v1.NodeClaimStatus{
			NodeName: n.Name, ProviderID: "kwok://" + n.Name, Capacity: capacity, Allocatable: allocatable,
			LastPodEventTime: metav1.NewTime(now.Add(-n.Quiet)),
		},
	}
	if n.GracePeriod > 0 {
		claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: n.GracePeriod}
	}
	set := condition.For(claim, now.Add(-max(n.Quiet, n.DriftedFor)))
	set.True(v1.ConditionTypeLaunched)
	set.True(v1.ConditionTypeRegistered)
	if !n.NotInitialized {
		set.True(v1.ConditionTypeInitialized)
	}
	if n.Rebooting {
		set.TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonRequested, "rebooting for a scenario")
	}
	if n.Drifted {
		claim.Annotations[v1.NodePoolHashAnnotationKey] = "of another template"
		condition.For(claim, now.Add(-n.DriftedFor)).True(v1.ConditionTypeDrifted)
	}
	if after := pool.Spec.Disruption.ConsolidateAfter.Duration; after != nil && *after <= n.Quiet {
		set.True(v1.ConditionTypeConsolidatable)
	}
	return claim
}

// The labels of nodes that the simulated kubelet of a real control plane serves; the first is an annotation, too.
const (
	kwokLabel      = "kwok.x-k8s.io/node"
	partitionLabel = "kwok-partition"
)

func (n Node) node(claim *v1.NodeClaim, now time.Time) *corev1.Node {
	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name, UID: types.UID(n.Name + "-node"), Labels: map[string]string{}, Annotations: map[string]string{kwokLabel: "fake"},
			Finalizers: []string{v1.TerminationFinalizer}, CreationTimestamp: claim.CreationTimestamp,
		},
		Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID},
		Status: corev1.NodeStatus{
			Capacity: claim.Status.Capacity, Allocatable: claim.Status.Allocatable,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Ready"}},
		},
	}
	for key, value := range claim.Labels {
		node.Labels[key] = value
	}
	node.Labels[corev1.LabelHostname], node.Labels[kwokLabel] = n.Name, "fake"
	node.Labels[partitionLabel] = "a"
	node.Labels[v1.NodeClassLabelKey(kwokv1.Group, "KWOKNodeClass")] = claim.Spec.NodeClassRef.Name
	node.Labels[v1.NodeRegisteredLabelKey] = "true"
	if !n.NotInitialized {
		node.Labels[v1.NodeInitializedLabelKey] = "true"
	}
	if n.Protected {
		node.Annotations[v1.DoNotDisruptAnnotationKey] = "true"
	}
	if n.NotReady {
		node.Status.Conditions[0].Status = corev1.ConditionFalse
		if n.NotReadyFor > 0 {
			node.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-n.NotReadyFor))
		}
	}
	if n.NoRepair {
		node.Annotations[v1.DoNotRepairAnnotationKey] = "true"
	}
	for _, kind := range slices.Sorted(maps.Keys(n.Unhealthy)) {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: "Broken", LastTransitionTime: metav1.NewTime(now.Add(-n.Unhealthy[kind])),
		})
	}
	return node
}

// Object is the pod, running since an hour before now.
func (p Pod) Object(now time.Time) *corev1.Pod {
	started := metav1.NewTime(now.Add(-time.Hour))
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: p.Name, UID: types.UID(p.Name + "-pod"), Labels: map[string]string{"app": p.App},
			Annotations: map[string]string{}, CreationTimestamp: started,
		},
		Spec: corev1.PodSpec{
			NodeName: p.Node,
			Containers: []corev1.Container{{
				Name: "app", Image: "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse(p.CPU), corev1.ResourceMemory: resource.MustParse(p.Memory),
				}},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &started,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	if p.DoNotDisrupt != "" {
		pod.Annotations[v1.DoNotDisruptAnnotationKey] = p.DoNotDisrupt
	}
	if p.DisruptionCost != "" {
		pod.Annotations[v1.DisruptionCostAnnotationKey] = p.DisruptionCost
	}
	if p.DeletionCost != "" {
		pod.Annotations[corev1.PodDeletionCost] = p.DeletionCost
	}
	if p.Zone != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: p.Zone}
	}
	if len(p.Nodes) > 0 {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: namedNodes(p.Nodes)}
	}
	if p.Near != "" {
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Near}},
			}},
		}}
	}
	if p.PreferredAnti != "" {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.PreferredAnti}},
			}}},
		}}
	}
	if p.Group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &p.Group}
	}
	if p.Daemon {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: p.App, UID: "daemon", Controller: &yes}}
	}
	return pod
}

// namedNodes is the node affinity of a pod that may run on one of some nodes.
func namedNodes(names []string) *corev1.NodeAffinity {
	terms := make([]corev1.NodeSelectorTerm, len(names))
	for i, name := range names {
		terms[i].MatchFields = []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}
	}
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}
