package metering

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// nodes are the nodes of the cluster and their pods, managed or not.
type nodes struct {
	Deps

	mu     sync.Mutex
	byName map[string]*nodeState
	pods   map[types.NamespacedName]*podState
}

// nodeState is a node with its pods. Either may be known before the other.
type nodeState struct {
	node *corev1.Node
	pods map[types.UID]*corev1.Pod
	// usage is that of the pods; nil if it has to be summed again.
	usage *usage
}

// newNodes exposes nodes and pods.
func newNodes(d Deps) *nodes {
	o := &nodes{Deps: d, byName: map[string]*nodeState{}, pods: map[types.NamespacedName]*podState{}}
	o.exposeNodes(d.Metrics)
	o.exposePods(d.Metrics)
	return o
}

func (o *nodes) putNode(node *corev1.Node) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at(node.Name).node = node
}

func (o *nodes) dropNode(node *corev1.Node) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at(node.Name).node = nil
	o.prune(node.Name)
}

func (o *nodes) putPod(pod *corev1.Pod) {
	now := o.Clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	known := o.pods[key]
	if known != nil && known.pod.UID != pod.UID { // the watch missed the deletion of a pod and the creation of another one
		o.leave(known.pod)
		known = nil
	}
	if known == nil {
		known = &podState{}
		o.pods[key] = known
	} else if known.pod.Spec.NodeName != pod.Spec.NodeName {
		o.leave(known.pod)
	}
	known.update(pod, o.Deps, now)
	if pod.Spec.NodeName != "" {
		at := o.at(pod.Spec.NodeName)
		at.pods[pod.UID], at.usage = pod, nil
	}
}

func (o *nodes) dropPod(pod *corev1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if known := o.pods[key]; known != nil && known.pod.UID == pod.UID {
		o.leave(known.pod)
		delete(o.pods, key)
	}
}

// leave removes a pod from its node.
func (o *nodes) leave(pod *corev1.Pod) {
	at, ok := o.byName[pod.Spec.NodeName]
	if !ok {
		return
	}
	delete(at.pods, pod.UID)
	at.usage = nil
	o.prune(pod.Spec.NodeName)
}

func (o *nodes) at(name string) *nodeState {
	at, ok := o.byName[name]
	if !ok {
		at = &nodeState{pods: map[types.UID]*corev1.Pod{}}
		o.byName[name] = at
	}
	return at
}

func (o *nodes) prune(name string) {
	if at := o.byName[name]; at.node == nil && len(at.pods) == 0 {
		delete(o.byName, name)
	}
}

// nodeUsage is a node and the usage of its pods; both are immutable.
type nodeUsage struct {
	node  *corev1.Node
	usage *usage
}

// all are the nodes that exist. The usage is summed again only if the pods have changed.
func (o *nodes) all() []nodeUsage {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]nodeUsage, 0, len(o.byName))
	for _, at := range o.byName {
		if at.node == nil {
			continue
		}
		if at.usage == nil {
			at.usage = sum(at.pods)
		}
		out = append(out, nodeUsage{at.node, at.usage})
	}
	return out
}

// exposeNodes adds the series of nodes to their gauges.
func (o *nodes) exposeNodes(m *observe.Metrics) {
	perResource := func(gauge *observe.GaugeFuncVec, amounts func(nodeUsage) amounts) {
		gauge.AddSource(func(add observe.AddSeries) {
			for _, n := range o.all() {
				labels := m.Nodes.Labels.Values(n.node, o.Cloud.ManagesNode(n.node))
				for _, a := range amounts(n) {
					add(a.value, append(labels[:len(labels):len(labels)], a.resource)...)
				}
			}
		})
	}
	perResource(m.Nodes.Allocatable, func(n nodeUsage) amounts { return amountsOf(n.node.Status.Allocatable) })
	perResource(m.Nodes.SystemOverhead, func(n nodeUsage) amounts {
		return amountsOf(n.node.Status.Capacity).minus(amountsOf(n.node.Status.Allocatable))
	})
	perResource(m.Nodes.TotalPodRequests, func(n nodeUsage) amounts { return n.usage.requests })
	perResource(m.Nodes.TotalPodLimits, func(n nodeUsage) amounts { return n.usage.limits })
	perResource(m.Nodes.TotalDaemonRequests, func(n nodeUsage) amounts { return n.usage.daemonRequests })
	perResource(m.Nodes.TotalDaemonLimits, func(n nodeUsage) amounts { return n.usage.daemonLimits })
	m.Nodes.CurrentLifetime.AddSource(func(add observe.AddSeries) {
		now := o.Clock.Now()
		for _, n := range o.all() {
			add(now.Sub(n.node.CreationTimestamp.Time).Seconds(), m.Nodes.Labels.Values(n.node, o.Cloud.ManagesNode(n.node))...)
		}
	})
	m.Cluster.Utilization.AddSource(func(add observe.AddSeries) {
		for _, a := range utilization(o.all()) {
			add(a.value, a.resource)
		}
	})
}

// utilization is the share of the allocatable resources of all nodes that is requested, in percent. Resources that no node has are left
// out.
func utilization(nodes []nodeUsage) amounts {
	var requested, allocatable amounts
	for _, n := range nodes {
		requested, allocatable = requested.plus(n.usage.requests), allocatable.plus(amountsOf(n.node.Status.Allocatable))
	}
	var out amounts
	for _, a := range allocatable {
		if a.value > 0 {
			out = append(out, amount{a.resource, 100 * requested.of(a.resource) / a.value})
		}
	}
	return out
}

// sum is the usage of the pods that are not terminal.
func sum(pods map[types.UID]*corev1.Pod) *usage {
	out := &usage{}
	for _, pod := range pods {
		if podrules.Terminal(pod) {
			continue
		}
		requests, limits := requestsOf(pod), limitsOf(pod)
		out.requests, out.limits = out.requests.plus(requests), out.limits.plus(limits)
		if podrules.OwnedByDaemonSet(pod) {
			out.daemonRequests, out.daemonLimits = out.daemonRequests.plus(requests), out.daemonLimits.plus(limits)
		}
	}
	return out
}

// since is the seconds from then until now, at least zero.
func since(then, now time.Time) float64 { return max(now.Sub(then).Seconds(), 0) }
