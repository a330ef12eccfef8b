package generator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/oracle/judge"
	"github.com/karpenter-anew/karpenter/test/oracle/kubescheduler"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// Clusters writes problems about disruption, for one goroutine: nodes with their NodeClaims and with pods where kube-scheduler binds them.
type Clusters struct {
	cloud     cloud.Cloud
	scheduler *kubescheduler.Scheduler
}

// NewClusters returns the clusters of a cloud. It ends with ctx.
func NewClusters(ctx context.Context, c cloud.Cloud) (*Clusters, error) {
	scheduler, err := kubescheduler.New(ctx)
	return &Clusters{cloud: c, scheduler: scheduler}, err
}

// largestCPU is how many CPUs nodes have at most: larger ones would hold all pods of a cluster.
const largestCPU = 16

// Problem is the cluster of a seed, with at most so many nodes.
func (c *Clusters) Problem(seed uint64, maxNodes int) (judge.Problem, error) {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 0xc1a57e)), off: Off(), names: rand.New(rand.NewPCG(seed, 0x4a3e5))}
	d.add(newClass())
	d.add(newNamespace(elsewhere))
	for i := range 1 + d.IntN(3) {
		d.pool(fmt.Sprintf("pool-%d", i))
	}
	d.storage()
	d.claims = slices.DeleteFunc(d.claims, func(name string) bool { return !d.hasVolume(name) })
	var sets []*appsv1.DaemonSet
	for i := range d.IntN(3) {
		d.daemon(fmt.Sprintf("daemon-%d", i))
	}
	var pools []*v1.NodePool
	for _, o := range d.objects {
		switch o := o.(type) {
		case *v1.NodePool:
			d.disruption(o)
			pools = append(pools, o)
		case *appsv1.DaemonSet:
			sets = append(sets, o)
		}
	}
	lines, nodes, err := c.nodes(d, pools, minNodes+d.IntN(max(maxNodes-minNodes, 0)+1))
	if err != nil {
		return judge.Problem{}, err
	}
	if err := c.pods(d, sets, nodes); err != nil {
		return judge.Problem{}, err
	}
	for i := range d.IntN(4) {
		d.podBudget(fmt.Sprintf("budget-%d", i))
	}
	p := judge.Problem{Name: fmt.Sprintf("cluster-%d", seed), Seed: seed, BestEffort: d.one(4), Preferences: preferences(seed)}
	for _, o := range d.objects {
		content, err := document(o)
		if err != nil {
			return judge.Problem{}, err
		}
		p.Documents = append(p.Documents, content)
	}
	p.Documents = append(p.Documents, lines...)
	return p, nil
}

// minNodes is how many nodes clusters have at least.
const minNodes = 20

// disruption gives a pool settings for the disruption of its nodes.
func (d *draw) disruption(pool *v1.NodePool) {
	pool.Spec.Limits = nil
	// A rack is the choice of a launch: nodes of the problems have none.
	spec := &pool.Spec.Template.Spec
	spec.Requirements = slices.DeleteFunc(spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.Key == rackLabel })
	to := &pool.Spec.Disruption
	to.ConsolidationPolicy = pick(d, v1.ConsolidationPolicyWhenEmptyOrUnderutilized, v1.ConsolidationPolicyWhenEmptyOrUnderutilized,
		v1.ConsolidationPolicyWhenEmptyOrUnderutilized, v1.ConsolidationPolicyBalanced, v1.ConsolidationPolicyWhenEmpty)
	to.ConsolidateAfter = v1.NewNillableDuration(pick(d, 0, 0, 0, 30*time.Second, 10*time.Minute))
	to.Budgets = []v1.Budget{{Nodes: pick(d, "100%", "100%", "100%", "50%", "10%", "3", "1")}}
	if d.one(3) {
		some := []v1.DisruptionReason{pick(d, v1.DisruptionReasonEmpty, v1.DisruptionReasonDrifted, v1.DisruptionReasonUnderutilized)}
		to.Budgets = append(to.Budgets, v1.Budget{Nodes: pick(d, "0", "1", "5%", "2"), Reasons: some})
	}
}

// nodes are nodes of the pools: documents, and the nodes that these stand for.
func (c *Clusters) nodes(d *draw, pools []*v1.NodePool, count int) (lines []map[string]any, nodes []*corev1.Node, err error) {
	listed, launchable := make([][]*cloud.InstanceType, len(pools)), make([][]check.Candidate, len(pools))
	for i, pool := range pools {
		if listed[i], err = c.cloud.Provider.InstanceTypes(context.Background(), pool); err != nil {
			return nil, nil, err
		}
		for _, t := range listed[i] {
			if cpu := t.Capacity[corev1.ResourceCPU]; cpu.Value() > largestCPU {
				continue
			}
			for _, one := range check.Candidates(t, map[string]string{v1.NodePoolLabelKey: pool.Name}, nil) {
				if check.Allowed(pool.Spec.Template.Spec.Requirements, one.Node.Labels) {
					launchable[i] = append(launchable[i], one)
				}
			}
		}
	}
	for n := range count {
		i := d.IntN(len(pools))
		if len(launchable[i]) == 0 {
			continue
		}
		is := pick(d, launchable[i]...).Node.Labels
		name := fmt.Sprintf("node-%d", n)
		words := map[string]string{
			"pool": pools[i].Name, "type": is[corev1.LabelInstanceTypeStable], "zone": is[corev1.LabelTopologyZone], "capacity": is[v1.CapacityTypeLabelKey],
			"quiet": pick(d, "1h", "1h", "1h", "5m", "10s"),
		}
		switch d.IntN(24) {
		case 0:
			words["do-not-disrupt"] = ""
		case 1:
			words["not-ready"] = ""
		case 2, 3:
			words["drifted"] = pick(d, "1h", "2h")
		case 4:
			words["drifted"], words["grace"] = "1h", "1h"
		}
		document := judge.NodeDocument(name, words)
		parsed, err := judge.NodeOf(document)
		if err != nil {
			return nil, nil, err
		}
		node, _ := parsed.Objects(pools[i], listed[i], time.Time{})
		lines, nodes = append(lines, document), append(nodes, node)
	}
	return lines, nodes, nil
}

// pods fills the nodes with pods of DaemonSets and of workloads, each where kube-scheduler lets it run.
func (c *Clusters) pods(d *draw, sets []*appsv1.DaemonSet, nodes []*corev1.Node) error {
	if err := c.scheduler.Load(manifest.Expand(d.objects)); err != nil {
		return err
	}
	c.scheduler.SetNodes(nodes, nil)
	for _, node := range nodes {
		for _, pod := range judge.DaemonPods(sets, node) {
			if err := c.bind(d, pod, []*corev1.Node{node}); err != nil {
				return err
			}
		}
	}
	for _, node := range nodes {
		d.nodes = append(d.nodes, node.Name)
	}
	var waiting []*corev1.Pod
	for i := range 4 + len(nodes)/4 {
		d.pods(fmt.Sprintf("work-%d", i), &waiting)
	}
	d.Shuffle(len(waiting), func(a, b int) { waiting[a], waiting[b] = waiting[b], waiting[a] })
	for _, pod := range waiting {
		d.Shuffle(len(nodes), func(a, b int) { nodes[a], nodes[b] = nodes[b], nodes[a] })
		if err := c.bind(d, pod, nodes); err != nil {
			return err
		}
	}
	return nil
}

// bind adds a pod on the first node that kube-scheduler accepts, if any.
func (c *Clusters) bind(d *draw, pod *corev1.Pod, nodes []*corev1.Node) error {
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = node.Name
	}
	at := slices.Index(c.scheduler.Refusals(check.Admit(pod), names), "")
	if at < 0 {
		return nil
	}
	pod.Spec.NodeName = names[at]
	d.add(pod)
	unbound := check.Admit(pod).DeepCopy()
	unbound.Spec.NodeName = ""
	return c.scheduler.Bind(unbound, names[at])
}

// pods are the pods of a workload.
func (d *draw) pods(name string, into *[]*corev1.Pod) {
	at := len(d.objects)
	d.workload(name)
	w, _ := d.objects[at].(*appsv1.Deployment)
	d.objects = d.objects[:at]
	spec := w.Spec.Template.Spec
	// A volume claim without a volume belongs to a pod that has never run.
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
	d.nodeNames(&spec)
	annotations := map[string]string{}
	switch d.IntN(10) {
	case 0:
		annotations[corev1.PodDeletionCost] = pick(d, "-2147483647", "2147483647", "100")
	case 1:
		annotations[v1.DoNotDisruptAnnotationKey] = pick(d, "true", "30m")
	}
	for i := range int(*w.Spec.Replicas) * 2 {
		pod := &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Namespace, Name: name + "-" + strconv.Itoa(i), Labels: w.Spec.Template.Labels, Annotations: annotations,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID(name), Controller: new(true)}},
			},
			Spec: *spec.DeepCopy(),
		}
		*into = append(*into, pod)
	}
}

// hasVolume reports whether a volume claim names its volume.
func (d *draw) hasVolume(claim string) bool {
	return slices.ContainsFunc(d.objects, func(o client.Object) bool {
		c, ok := o.(*corev1.PersistentVolumeClaim)
		return ok && c.Name == claim && c.Spec.VolumeName != ""
	})
}

// podBudget adds a PodDisruptionBudget.
func (d *draw) podBudget(name string) {
	b := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace(), Name: name},
	}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: pick(d, "a", "b", "c")}}
	if d.one(2) {
		b.Spec.Selector.MatchLabels[tierLabel] = pick(d, "front", "back")
	}
	value := pick(d, intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("50%"), intstr.FromString("90%"))
	if d.one(2) {
		b.Spec.MinAvailable = &value
	} else {
		b.Spec.MaxUnavailable = &value
	}
	d.add(b)
}
