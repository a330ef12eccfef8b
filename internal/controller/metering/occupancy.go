package metering

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// occupancy is which nodes there are and which pods are on them, managed or not.
type occupancy struct {
	Deps

	mu    sync.Mutex
	nodes map[string]*occupied
	pods  map[types.NamespacedName]*watched
}

// occupied is a node with its pods. Either may be known before the other.
type occupied struct {
	node *corev1.Node
	pods map[types.UID]*corev1.Pod
	// load is what the pods ask for; nil when that has to be summed again.
	load *load
}

// newOccupancy shows nodes and pods.
func newOccupancy(d Deps) *occupancy {
	o := &occupancy{Deps: d, nodes: map[string]*occupied{}, pods: map[types.NamespacedName]*watched{}}
	o.showNodes(d.Metrics)
	o.showPods(d.Metrics)
	return o
}

func (o *occupancy) putNode(node *corev1.Node) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at(node.Name).node = node
}

func (o *occupancy) dropNode(node *corev1.Node) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at(node.Name).node = nil
	o.prune(node.Name)
}

func (o *occupancy) putPod(pod *corev1.Pod) {
	now := o.Clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	known := o.pods[key]
	if known != nil && known.pod.UID != pod.UID { // the watch missed that one went and another came
		o.leave(known.pod)
		known = nil
	}
	if known == nil {
		known = &watched{}
		o.pods[key] = known
	} else if known.pod.Spec.NodeName != pod.Spec.NodeName {
		o.leave(known.pod)
	}
	known.see(pod, o.Deps, now)
	if pod.Spec.NodeName != "" {
		at := o.at(pod.Spec.NodeName)
		at.pods[pod.UID], at.load = pod, nil
	}
}

func (o *occupancy) dropPod(pod *corev1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if known := o.pods[key]; known != nil && known.pod.UID == pod.UID {
		o.leave(known.pod)
		delete(o.pods, key)
	}
}

// leave takes a pod off its node.
func (o *occupancy) leave(pod *corev1.Pod) {
	at, ok := o.nodes[pod.Spec.NodeName]
	if !ok {
		return
	}
	delete(at.pods, pod.UID)
	at.load = nil
	o.prune(pod.Spec.NodeName)
}

func (o *occupancy) at(name string) *occupied {
	at, ok := o.nodes[name]
	if !ok {
		at = &occupied{pods: map[types.UID]*corev1.Pod{}}
		o.nodes[name] = at
	}
	return at
}

func (o *occupancy) prune(name string) {
	if at := o.nodes[name]; at.node == nil && len(at.pods) == 0 {
		delete(o.nodes, name)
	}
}

// loaded is a node and what the pods on it ask for; neither changes any more.
type loaded struct {
	node *corev1.Node
	load *load
}

// all are the nodes that exist. Only those whose pods have changed are summed again.
func (o *occupancy) all() []loaded {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]loaded, 0, len(o.nodes))
	for _, at := range o.nodes {
		if at.node == nil {
			continue
		}
		if at.load == nil {
			at.load = sum(at.pods)
		}
		out = append(out, loaded{at.node, at.load})
	}
	return out
}

// showNodes gives the gauges of nodes their series.
func (o *occupancy) showNodes(m *observe.Metrics) {
	perResource := func(gauge *observe.GaugeFuncVec, amounts func(loaded) amounts) {
		gauge.AddSource(func(add observe.AddSeries) {
			for _, n := range o.all() {
				labels := m.Nodes.Labels.Values(n.node, o.Cloud.ManagesNode(n.node))
				for _, a := range amounts(n) {
					add(a.value, append(labels[:len(labels):len(labels)], a.resource)...)
				}
			}
		})
	}
	perResource(m.Nodes.Allocatable, func(n loaded) amounts { return amountsOf(n.node.Status.Allocatable) })
	perResource(m.Nodes.SystemOverhead, func(n loaded) amounts {
		return amountsOf(n.node.Status.Capacity).minus(amountsOf(n.node.Status.Allocatable))
	})
	perResource(m.Nodes.TotalPodRequests, func(n loaded) amounts { return n.load.requests })
	perResource(m.Nodes.TotalPodLimits, func(n loaded) amounts { return n.load.limits })
	perResource(m.Nodes.TotalDaemonRequests, func(n loaded) amounts { return n.load.daemonRequests })
	perResource(m.Nodes.TotalDaemonLimits, func(n loaded) amounts { return n.load.daemonLimits })
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

// utilization is which part of what is allocatable on all nodes is asked for, in percent. What no node has is left out.
func utilization(nodes []loaded) amounts {
	var asked, there amounts
	for _, n := range nodes {
		asked, there = asked.plus(n.load.requests), there.plus(amountsOf(n.node.Status.Allocatable))
	}
	var out amounts
	for _, a := range there {
		if a.value > 0 {
			out = append(out, amount{a.resource, 100 * asked.of(a.resource) / a.value})
		}
	}
	return out
}

// sum adds up what pods ask for that have not come to an end.
func sum(pods map[types.UID]*corev1.Pod) *load {
	out := &load{}
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

// since is the seconds from a moment until now, never less than none.
func since(then, now time.Time) float64 { return max(now.Sub(then).Seconds(), 0) }
