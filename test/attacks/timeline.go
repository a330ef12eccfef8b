package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// timeline records when each step of honest pods was seen, to tell the time that the controller takes from that of others: the
// controllers that create the pods, kube-scheduler that looks for nodes and binds, and the kubelet.
type timeline struct {
	mu    sync.Mutex
	pods  map[string]*podSteps
	nodes map[string]time.Time // when it was first ready for pods
}

// podSteps are the times at which steps of one pod were first seen; zero for those that were not.
type podSteps struct {
	wave, node                           string
	created, unschedulable, bound, began time.Time
}

// steps are how long the steps of a wave took together, each from the end of the step before.
type steps struct {
	// refusal ends when kube-scheduler has found no node for the last pod that needs one.
	refusal time.Duration
	// nodes ends when the last node that such a pod was bound to is ready for pods. It is the part of the controller, with the API server
	// that serves it.
	nodes time.Duration
	// binding ends when the last pod is bound, running when it runs.
	binding, running time.Duration
}

// String lists the steps in seconds.
func (s steps) String() string {
	return fmt.Sprintf("%.1f+%.1f+%.1f+%.1f", s.refusal.Seconds(), s.nodes.Seconds(), s.binding.Seconds(), s.running.Seconds())
}

// explain tells whom the steps depend on.
func (s steps) explain() string {
	return fmt.Sprintf("Pods were created and found unschedulable in %.1f s (kube-controller-manager, kube-scheduler), nodes were ready after %.1f s more "+
		"(the controller), pods were bound after %.1f s more (kube-scheduler) and ran after %.1f s more (kubelet)",
		s.refusal.Seconds(), s.nodes.Seconds(), s.binding.Seconds(), s.running.Seconds())
}

// record watches honest pods and all nodes until ctx ends. It returns once both lists are known.
func record(ctx context.Context, config *rest.Config) (*timeline, error) {
	l := &timeline{pods: map[string]*podSteps{}, nodes: map[string]time.Time{}}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("building a client for watches: %w", err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(honest))
	see := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { l.see(o, time.Now()) }, UpdateFunc: func(_, o any) { l.see(o, time.Now()) },
	}
	for _, informer := range []toolscache.SharedIndexInformer{factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()} {
		if _, err := informer.AddEventHandler(see); err != nil {
			return nil, fmt.Errorf("watching: %w", err)
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return l, context.Cause(ctx)
}

// see records what is new about a pod or a node.
func (l *timeline) see(o any, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch o := o.(type) {
	case *corev1.Pod:
		l.seePod(o, now)
	case *corev1.Node:
		if l.nodes[o.Name].IsZero() && readyForPods(o) {
			l.nodes[o.Name] = now
		}
	}
}

func (l *timeline) seePod(pod *corev1.Pod, now time.Time) {
	p := l.pods[pod.Name]
	if p == nil {
		p = &podSteps{wave: pod.Labels[waveLabel], created: now}
		l.pods[pod.Name] = p
	}
	first := func(t *time.Time, happened bool) {
		if happened && t.IsZero() {
			*t = now
		}
	}
	for _, c := range pod.Status.Conditions {
		first(&p.unschedulable, c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable)
	}
	p.node = pod.Spec.NodeName
	first(&p.bound, p.node != "")
	first(&p.began, pod.Status.Phase == corev1.PodRunning)
}

// readyForPods reports whether kube-scheduler may bind pods without tolerations to the node.
func readyForPods(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// steps returns those of a wave that began at that time.
func (l *timeline) steps(wave string, begin time.Time) steps {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused, ready, bound, began := begin, begin, begin, begin
	for _, p := range l.pods {
		if p.wave != wave {
			continue
		}
		if !p.unschedulable.IsZero() {
			refused, ready = later(refused, p.unschedulable), later(ready, l.nodes[p.node])
		}
		bound, began = later(bound, p.bound), later(began, p.began)
	}
	ready = later(ready, refused)
	bound = later(bound, ready)
	return steps{
		refusal: refused.Sub(begin), nodes: ready.Sub(refused), binding: bound.Sub(ready), running: later(began, bound).Sub(bound),
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
