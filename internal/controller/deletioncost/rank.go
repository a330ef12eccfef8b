package deletioncost

// Ranking of nodes.
//
// Problem: a ReplicaSet that shrinks should delete the pods of the nodes that disruption would remove next, so that these become empty.
// Approach: nodes are put into groups by what disruption may do to them, and ordered by savings ratio within a group. Invariant: the lower the
// deletion cost, the sooner the node should go; all pods of a node have the same. Cost: a sort of the nodes.
//
// Source: specification of v1.15, pod deletion cost management.

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// group is what disruption may do to a node.
type group int

const (
	// leaving nodes are being removed.
	leaving group = iota
	// drifted nodes are replaced.
	drifted
	// consolidatable nodes are consolidated if that saves anything.
	consolidatable
	// staying nodes are not disrupted.
	staying
)

// standing is a node with what its rank depends on.
type standing struct {
	node *model.Node
	// ratio is the price of the node per disruption cost.
	ratio float64
	group group
}

// rank is a node with the deletion cost of its pods.
type rank struct {
	node  *model.Node
	group group
	// cost is the value of the annotation; empty for pods without it.
	cost string
}

// rankNodes returns the nodes in the order in which their pods are written: nodes that are leaving, those that disruption may take, those that
// stay. At most as many nodes of a pool are drifted or consolidatable as its budgets allow more nodes to be disrupted for that reason; the
// others stay.
func rankNodes(nodes []standing, drift, underutilized disrupt.Budgets) []rank {
	sorted := slices.Clone(nodes)
	slices.SortFunc(sorted, func(a, b standing) int {
		return cmp.Or(cmp.Compare(b.ratio, a.ratio), strings.Compare(a.node.Name, b.node.Name), strings.Compare(a.node.ID, b.node.ID))
	})
	byGroup := map[group][]rank{}
	for _, s := range sorted {
		if s.group == drifted && !drift.Take(s.node.Pool) || s.group == consolidatable && !underutilized.Take(s.node.Pool) {
			s.group = staying
		}
		byGroup[s.group] = append(byGroup[s.group], rank{node: s.node, group: s.group})
	}
	for i := range byGroup[leaving] {
		byGroup[leaving][i].cost = strconv.Itoa(math.MinInt32)
	}
	going := slices.Concat(byGroup[drifted], byGroup[consolidatable])
	for i := range going {
		going[i].cost = strconv.Itoa(i - len(going))
	}
	return slices.Concat(byGroup[leaving], going, byGroup[staying])
}

// pins reports whether a pod keeps its node from being emptied by workloads that shrink: no ReplicaSet, Job or DaemonSet controls it. Pods that
// have ended pin no node.
func pins(pod *corev1.Pod) bool {
	if pod.Namespace == metav1.NamespaceSystem || podrules.Terminal(pod) {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner == nil || !slices.Contains([]string{"ReplicaSet", "Job", "DaemonSet"}, owner.Kind)
}

// managedPod is a pod whose deletion cost is managed, without the rest of it: those of a whole cluster are in memory during a pass.
type managedPod struct {
	key podKey
	// cost is the value of its annotation, present whether it has one.
	cost    string
	present bool
}

// is reports whether the pod has the deletion cost; empty means no annotation at all.
func (p managedPod) is(cost string) bool { return p.cost == cost && p.present == (cost != "") }

// managedPods are the pods whose deletion cost is managed.
func managedPods(pods []*corev1.Pod) []managedPod {
	var out []managedPod
	for _, pod := range pods {
		if written(pod) {
			cost, present := pod.Annotations[corev1.PodDeletionCost]
			out = append(out, managedPod{key: keyOf(pod), cost: cost, present: present})
		}
	}
	return out
}

// written reports whether the deletion cost of a pod is managed: a ReplicaSet controls it.
func written(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.APIVersion == "apps/v1" && owner.Kind == "ReplicaSet"
}
