package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/core/spelling"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/internal/simulation/report"
)

// Workload is the answer about a workload: its pods, grouped by answer.
type Workload struct {
	// Version is that of the schema, Kind that of the workload, such as Deployment.
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Pods is how many pods the workload has. Pods that it has not created yet are not among them.
	Pods int `json:"pods"`
	// Groups are the pods with the same answer, the largest group first.
	Groups []PodGroup `json:"groups"`
}

// PodGroup is pods of a workload with the same answer.
type PodGroup struct {
	State State `json:"state"`
	// Pods are the names of the pods, in order.
	Pods []string `json:"pods"`
	// Nodes are the nodes on which pods are, in order.
	Nodes []string `json:"nodes,omitempty"`
	// Drain is what the deletion of its node means for the first of the pods, and for each other pod, but for the times, the same.
	Drain
	// Fate is what would be done now for the first of the pods, and for each other pod the same, on this or on an equal node.
	Fate report.Fate `json:"fate"`
}

// AboutWorkload explains the pods of a workload of a kind that owns pods, such as StatefulSet, or of a Deployment.
func AboutWorkload(ctx context.Context, q Question, kind, namespace, name string) (Workload, error) {
	pods, err := podsOf(q.Objects, kind, namespace, name)
	if err != nil {
		return Workload{}, err
	}
	a := Workload{Version: Version, Kind: kind, Namespace: namespace, Name: name, Pods: len(pods), Groups: []PodGroup{}}
	if len(pods) == 0 {
		return a, nil
	}
	result, err := simulation.Run(ctx, q.Objects, q.Cloud, q.Options)
	if err != nil {
		return Workload{}, err
	}
	fates, drains := report.NewFates(result), drainsOf(q)
	at := map[groupKey]int{} // index of the group by its answer
	for _, pod := range pods {
		fate := fates.Of(namespace + "/" + pod.Name)
		state := StateOf(pod, fate.Outcome)
		drain, of := drains.of(pod)
		key := groupKey{state, of, fateKey(fate)}
		if _, ok := at[key]; !ok {
			at[key] = len(a.Groups)
			a.Groups = append(a.Groups, PodGroup{State: state, Drain: drain, Fate: fate})
		}
		group := &a.Groups[at[key]]
		group.Pods = append(group.Pods, pod.Name)
		if node := pod.Spec.NodeName; node != "" && !slices.Contains(group.Nodes, node) {
			group.Nodes = append(group.Nodes, node)
		}
	}
	for i := range a.Groups {
		slices.Sort(a.Groups[i].Nodes)
	}
	slices.SortStableFunc(a.Groups, func(x, y PodGroup) int { return len(y.Pods) - len(x.Pods) })
	return a, nil
}

// groupKey is equal for pods with the same answer.
type groupKey struct {
	state State
	drain drainKey
	fate  string
}

// fateKey is equal for pods of which the same becomes: which of several nodes a pod fits or is launched on makes no difference.
func fateKey(fate report.Fate) string {
	switch {
	case fate.Placement != nil:
		return "placed on " + fate.Placement.NodePool
	case fate.Launch != nil:
		return fmt.Sprint("launched ", fate.Launch.NodePool, fate.Launch.InstanceType, fate.Launch.Zones, fate.Launch.CapacityTypes)
	}
	return fate.Text("")
}

// podsOf are the pods of a workload, by name. It fails with ErrNotFound if the cluster has neither the workload nor a pod of it.
func podsOf(objects []client.Object, kind, namespace, name string) ([]*corev1.Pod, error) {
	owners, exists := map[string]bool{}, false
	owner := kind
	if kind == "Deployment" {
		owner = "ReplicaSet"
	} else {
		owners[name] = true
	}
	var similar []string
	for _, o := range objects {
		if o.GetNamespace() != namespace {
			continue
		}
		switch o.GetObjectKind().GroupVersionKind().Kind {
		case kind:
			exists = exists || o.GetName() == name
			similar = append(similar, o.GetName())
		case owner:
			if of := metav1.GetControllerOf(o); of != nil && of.Kind == kind && of.Name == name {
				owners[o.GetName()], exists = true, true
			}
		}
	}
	var pods []*corev1.Pod
	for _, o := range objects {
		pod, ok := o.(*corev1.Pod)
		if !ok || pod.Namespace != namespace {
			continue
		}
		of := metav1.GetControllerOf(pod)
		switch {
		case of == nil || of.Kind != owner:
		case owners[of.Name]:
			pods = append(pods, pod)
		case owner == kind && !slices.Contains(similar, of.Name):
			similar = append(similar, of.Name)
		}
	}
	if !exists && len(pods) == 0 {
		return nil, fmt.Errorf("%s %q in namespace %q: %w%s", strings.ToLower(kind), name, namespace, ErrNotFound, spelling.DidYouMean(name, similar))
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// shownNames is how many names a text lists.
const shownNames = 5

// Text implements Answer.
func (a Workload) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s/%s has %s\n", a.Kind, a.Namespace, a.Name, podCount(a.Pods))
	for _, g := range a.Groups {
		fmt.Fprintf(&b, "  %s %s: %s\n", podCount(len(g.Pods)), stateText(g.State, len(g.Pods)), firstOf(g.Pods))
		if len(g.Nodes) > 0 {
			fmt.Fprintf(&b, "    on %s\n", firstOf(g.Nodes))
		}
		if g.State == Bound {
			b.WriteString(g.Drain.text("    ", len(g.Nodes), len(g.Pods), g.Fate))
		} else {
			b.WriteString(g.Fate.Text("    "))
		}
	}
	return b.String()
}

func stateText(s State, pods int) string {
	be, have, fit := "are", "have", "fit"
	if pods == 1 {
		be, have, fit = "is", "has", "fits"
	}
	switch s {
	case Finished:
		return have + " finished"
	case Bound:
		return be + " on a node"
	case Nominated:
		return be + " pending and " + fit + " a node"
	case Pending:
		return be + " pending"
	case Refused:
		return be + " pending and unschedulable"
	default:
		return be + " on no node"
	}
}

func podCount(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// firstOf lists the first names and says how many more there are.
func firstOf(names []string) string {
	shown := names[:min(len(names), shownNames)]
	out := strings.Join(shown, ", ")
	if rest := len(names) - len(shown); rest > 0 {
		out += fmt.Sprintf(" and %d more", rest)
	}
	return out
}
