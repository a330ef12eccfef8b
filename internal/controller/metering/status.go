package metering

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// kind is a kind of object whose conditions are exposed.
type kind struct {
	metrics observe.StatusMetrics
	// ours reports whether an object is exposed.
	ours func(client.Object) bool
	// conditions returns the conditions of an object; those of its kind that it does not have are Unknown.
	conditions func(client.Object) []metav1.Condition
	// deprecated are group and kind, if the kind is also exposed by the deprecated metrics; otherwise empty.
	deprecated []string
}

func ofNodeClaims(d Deps) kind {
	return kind{
		metrics:    d.Metrics.Status.NodeClaims,
		ours:       func(o client.Object) bool { return managed.Is(d.Cloud, o) },
		conditions: func(o client.Object) []metav1.Condition { return complete(o.(*v1.NodeClaim)) },
		deprecated: []string{v1.SchemeGroupVersion.Group, "NodeClaim"},
	}
}

func ofNodePools(d Deps) kind {
	return kind{
		metrics:    d.Metrics.Status.NodePools,
		ours:       func(o client.Object) bool { return managed.Is(d.Cloud, o) },
		conditions: func(o client.Object) []metav1.Condition { return complete(o.(*v1.NodePool)) },
		deprecated: []string{v1.SchemeGroupVersion.Group, "NodePool"},
	}
}

func ofNodeClasses(d Deps, class cloud.NodeClass) kind {
	return kind{
		metrics:    d.Metrics.Status.NodeClasses[class.LabelKey()],
		ours:       func(client.Object) bool { return true },
		conditions: func(o client.Object) []metav1.Condition { return complete(o.(conditioned)) },
		deprecated: []string{class.GVK.Group, class.GVK.Kind},
	}
}

func ofNodes(d Deps) kind {
	return kind{
		metrics:    d.Metrics.Status.Nodes,
		ours:       func(o client.Object) bool { return managed.Is(d.Cloud, o) },
		conditions: func(o client.Object) []metav1.Condition { return ofKubelet(o.(*corev1.Node)) },
	}
}

func ofBuffers(d Deps) kind {
	return kind{
		metrics:    d.Metrics.Status.CapacityBuffers,
		ours:       func(client.Object) bool { return true },
		conditions: func(o client.Object) []metav1.Condition { return once(o.(*v1beta1.CapacityBuffer).Status.Conditions) },
		deprecated: []string{v1beta1.SchemeGroupVersion.Group, "CapacityBuffer"},
	}
}

// conditioned is an object of Karpenter's API.
type conditioned interface {
	client.Object
	condition.Object
}

// complete returns the conditions of an object, including those that are not set yet.
func complete(o conditioned) []metav1.Condition {
	have := *o.ConditionList()
	kindOf := o.ConditionTypes()
	for _, name := range append([]string{kindOf.Root}, kindOf.Dependents...) {
		if !slices.ContainsFunc(have, func(c metav1.Condition) bool { return c.Type == name }) {
			full := o.DeepCopyObject().(conditioned)
			condition.For(full, o.GetCreationTimestamp().Time)
			return once(*full.ConditionList())
		}
	}
	return once(have)
}

// ofKubelet returns the conditions of a Node.
func ofKubelet(node *corev1.Node) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(node.Status.Conditions))
	for _, c := range node.Status.Conditions {
		out = append(out, metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime,
		})
	}
	return once(out)
}

// once leaves out later conditions of the same type.
func once(conditions []metav1.Condition) []metav1.Condition {
	for i := range conditions {
		if named(conditions[:i], conditions[i].Type) != nil {
			out := slices.Clone(conditions[:i])
			for _, c := range conditions[i:] {
				if named(out, c.Type) == nil {
					out = append(out, c)
				}
			}
			return out
		}
	}
	return conditions
}

// named returns the condition of that type, or nil.
func named(conditions []metav1.Condition, name string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == name {
			return &conditions[i]
		}
	}
	return nil
}

// statuses are the objects of one kind.
type statuses struct {
	Deps
	kind

	mu      sync.Mutex
	objects map[types.NamespacedName]client.Object
	pairs   labelPairs
}

// newStatuses exposes the conditions of a kind.
func newStatuses(d Deps, k kind) *statuses {
	s := &statuses{Deps: d, kind: k, objects: map[types.NamespacedName]client.Object{}}
	s.exposeConditions(k.metrics.Count, d.Metrics.Status.Deprecated.Count, func(metav1.Condition) float64 { return 1 })
	s.exposeConditions(k.metrics.CurrentStatus, d.Metrics.Status.Deprecated.CurrentStatus, func(c metav1.Condition) float64 {
		return since(c.LastTransitionTime.Time, d.Clock.Now())
	})
	s.expose(k.metrics.TerminationCurrent, d.Metrics.Status.Deprecated.TerminationCurrent, func(o client.Object, add func(float64, ...string)) {
		if at := o.GetDeletionTimestamp(); at != nil {
			add(since(at.Time, d.Clock.Now()), o.GetNamespace(), o.GetName())
		}
	})
	return s
}

// exposeConditions adds a series for each condition to a gauge.
func (s *statuses) exposeConditions(own, deprecated *observe.GaugeFuncVec, value func(metav1.Condition) float64) {
	s.expose(own, deprecated, func(o client.Object, add func(float64, ...string)) {
		for _, c := range s.conditions(o) {
			add(value(c), o.GetNamespace(), o.GetName(), c.Type, string(c.Status), c.Reason)
		}
	})
}

// expose adds the series of each object to a gauge, and to the deprecated one.
func (s *statuses) expose(own, deprecated *observe.GaugeFuncVec, of func(o client.Object, add func(float64, ...string))) {
	own.AddSource(func(series observe.AddSeries) {
		for _, o := range s.all() {
			extra := s.extra(o)
			of(o, func(value float64, labels ...string) { series(value, append(labels, extra...)...) })
		}
	})
	if s.deprecated == nil {
		return
	}
	deprecated.AddSource(func(series observe.AddSeries) {
		for _, o := range s.all() {
			of(o, func(value float64, labels ...string) { series(value, append(s.deprecated[:2:2], labels...)...) })
		}
	})
}

// extra are the values of the object labels that every metric of the kind has.
func (s *statuses) extra(o client.Object) []string {
	out := make([]string, len(s.metrics.Labels))
	for i, label := range s.metrics.Labels {
		out[i] = o.GetLabels()[label]
	}
	return out
}

func (s *statuses) all() []client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]client.Object, 0, len(s.objects))
	for _, o := range s.objects {
		out = append(out, o)
	}
	return out
}

// handler handles the events of the objects. Objects of the initial list are not changes.
func (s *statuses) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { with(o, func(o client.Object) { s.put(o, initial) }) },
		UpdateFunc: func(_, o any) { with(o, func(o client.Object) { s.put(o, false) }) },
		DeleteFunc: func(o any) { with(o, s.drop) },
	}
}

// put takes a new version of an object and publishes the changes since the last one.
func (s *statuses) put(o client.Object, initial bool) {
	key := client.ObjectKeyFromObject(o)
	ours := s.ours(o)
	s.mu.Lock()
	before, known := s.objects[key]
	if ours {
		s.objects[key] = o
	} else {
		delete(s.objects, key)
	}
	s.mu.Unlock()
	if known && before.GetUID() != o.GetUID() { // the watch missed the deletion of an object and the creation of another one
		s.ended(before)
		known = false
	}
	if !known {
		before = nil
	}
	if !ours || initial {
		return
	}
	s.compare(before, o)
}

// compare counts and publishes the changes between two versions of an object; before is nil for the first version, which has no
// events.
func (s *statuses) compare(before, now client.Object) {
	var had []metav1.Condition
	if before != nil {
		had = s.conditions(before)
	}
	for _, c := range s.conditions(now) {
		was := named(had, c.Type)
		if was == nil && c.Status == metav1.ConditionUnknown || was != nil && was.Status == c.Status {
			continue
		}
		counted := s.pairs.of(c)
		if was != nil {
			lasted := since(was.LastTransitionTime.Time, c.LastTransitionTime.Time)
			s.metrics.Transition.WithLabelValues(s.own(now, counted.Type, string(was.Status), string(c.Status))...).Observe(lasted)
			if s.deprecated != nil {
				s.Metrics.Status.Deprecated.Transition.WithLabelValues(s.ofDeprecated(counted.Type, string(was.Status), string(c.Status))...).Observe(lasted)
			}
			s.Recorder.Publish(observe.ConditionChanged(now, was.Status, c))
		}
		s.metrics.Transitions.WithLabelValues(s.own(now, counted.Type, string(c.Status), counted.Reason)...).Inc()
		if s.deprecated != nil {
			s.Metrics.Status.Deprecated.Transitions.WithLabelValues(s.ofDeprecated(counted.Type, string(c.Status), counted.Reason)...).Inc()
		}
	}
	if before == nil || now.GetDeletionTimestamp() == nil {
		return
	}
	for _, finalizer := range before.GetFinalizers() {
		if !slices.Contains(now.GetFinalizers(), finalizer) {
			s.Recorder.Publish(observe.Finalized(now, finalizer))
		}
	}
}

// drop removes an object that is gone.
func (s *statuses) drop(o client.Object) {
	key := client.ObjectKeyFromObject(o)
	s.mu.Lock()
	before, known := s.objects[key]
	last := known && before.GetUID() == o.GetUID()
	if last {
		delete(s.objects, key)
	}
	s.mu.Unlock()
	if last {
		s.ended(o)
	}
}

// ended records how long an object took to terminate, and publishes the removal of its last finalizers. An object without finalizers
// has no duration.
func (s *statuses) ended(o client.Object) {
	at := o.GetDeletionTimestamp()
	if at == nil {
		return
	}
	took := since(at.Time, s.Clock.Now())
	s.metrics.TerminationDuration.WithLabelValues(s.own(o)...).Observe(took)
	if s.deprecated != nil {
		s.Metrics.Status.Deprecated.TerminationDuration.WithLabelValues(s.ofDeprecated()...).Observe(took)
	}
	for _, finalizer := range o.GetFinalizers() {
		s.Recorder.Publish(observe.Finalized(o, finalizer))
	}
}

// own are the label values of a metric of the kind, ofDeprecated those of the deprecated one.
func (s *statuses) own(o client.Object, values ...string) []string {
	return append(values[:len(values):len(values)], s.extra(o)...)
}

func (s *statuses) ofDeprecated(values ...string) []string {
	return append(s.deprecated[:2:2], values...)
}
