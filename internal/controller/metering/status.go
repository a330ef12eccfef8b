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

// kind is what tells the kinds apart whose conditions are shown.
type kind struct {
	metrics observe.StatusMetrics
	// ours says whether an object is shown.
	ours func(client.Object) bool
	// conditions are what an object says; those that it does not have but for its kind ought to are Unknown.
	conditions func(client.Object) []metav1.Condition
	// deprecated are group and kind, if the kind is also shown under the older names; otherwise empty.
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

// conditioned is an object of ours.
type conditioned interface {
	client.Object
	condition.Object
}

// complete are the conditions of an object of ours, with those that nobody has set yet.
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

// ofKubelet are the conditions of a Node.
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

// once leaves out what is said of a condition a second time.
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

// named is the condition of that type, or nil.
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
}

// newStatuses shows the conditions of a kind.
func newStatuses(d Deps, k kind) *statuses {
	s := &statuses{Deps: d, kind: k, objects: map[types.NamespacedName]client.Object{}}
	s.showConditions(k.metrics.Count, d.Metrics.Status.Deprecated.Count, func(metav1.Condition) float64 { return 1 })
	s.showConditions(k.metrics.CurrentStatus, d.Metrics.Status.Deprecated.CurrentStatus, func(c metav1.Condition) float64 {
		return since(c.LastTransitionTime.Time, d.Clock.Now())
	})
	s.show(k.metrics.TerminationCurrent, d.Metrics.Status.Deprecated.TerminationCurrent, func(o client.Object, add func(float64, ...string)) {
		if at := o.GetDeletionTimestamp(); at != nil {
			add(since(at.Time, d.Clock.Now()), o.GetNamespace(), o.GetName())
		}
	})
	return s
}

// showConditions gives a gauge a series for each condition.
func (s *statuses) showConditions(own, deprecated *observe.GaugeFuncVec, value func(metav1.Condition) float64) {
	s.show(own, deprecated, func(o client.Object, add func(float64, ...string)) {
		for _, c := range s.conditions(o) {
			add(value(c), o.GetNamespace(), o.GetName(), c.Type, string(c.Status), c.Reason)
		}
	})
}

// show gives a gauge the series of each object, and the older one too.
func (s *statuses) show(own, deprecated *observe.GaugeFuncVec, of func(o client.Object, add func(float64, ...string))) {
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

// extra are the values of the object labels that every metric of the kind carries.
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

// handler hears of the objects. What existed when the watch began is not news.
func (s *statuses) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { with(o, func(o client.Object) { s.put(o, initial) }) },
		UpdateFunc: func(_, o any) { with(o, func(o client.Object) { s.put(o, false) }) },
		DeleteFunc: func(o any) { with(o, s.drop) },
	}
}

// put shows an object as it is now and tells what has changed since it was last seen.
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
	if known && before.GetUID() != o.GetUID() { // the watch missed that one went and another came
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

// compare counts and tells the changes from one sight of an object to the next; before is nil at first sight, of which no
// events tell.
func (s *statuses) compare(before, now client.Object) {
	var had []metav1.Condition
	if before != nil {
		had = s.conditions(before)
	}
	for _, c := range s.conditions(now) {
		was := named(had, c.Type)
		switch {
		case was == nil && c.Status == metav1.ConditionUnknown, was != nil && was.Status == c.Status:
			continue
		case was != nil:
			lasted := since(was.LastTransitionTime.Time, c.LastTransitionTime.Time)
			s.metrics.Transition.WithLabelValues(s.own(now, c.Type, string(was.Status))...).Observe(lasted)
			if s.deprecated != nil {
				s.Metrics.Status.Deprecated.Transition.WithLabelValues(s.older(c.Type, string(was.Status))...).Observe(lasted)
			}
			s.Recorder.Publish(observe.ConditionChanged(now, was.Status, c))
		}
		s.metrics.Transitions.WithLabelValues(s.own(now, c.Type, string(c.Status), c.Reason)...).Inc()
		if s.deprecated != nil {
			s.Metrics.Status.Deprecated.Transitions.WithLabelValues(s.older(c.Type, string(c.Status), c.Reason)...).Inc()
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

// drop forgets an object that is gone.
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

// ended counts how long an object took to go, and tells of the finalizers that were the last to keep it. One that had none
// was gone at once.
func (s *statuses) ended(o client.Object) {
	at := o.GetDeletionTimestamp()
	if at == nil {
		return
	}
	took := since(at.Time, s.Clock.Now())
	s.metrics.TerminationDuration.WithLabelValues(s.own(o)...).Observe(took)
	if s.deprecated != nil {
		s.Metrics.Status.Deprecated.TerminationDuration.WithLabelValues(s.older()...).Observe(took)
	}
	for _, finalizer := range o.GetFinalizers() {
		s.Recorder.Publish(observe.Finalized(o, finalizer))
	}
}

// own are the label values of a metric of the kind, older those of the deprecated one.
func (s *statuses) own(o client.Object, values ...string) []string {
	return append(values[:len(values):len(values)], s.extra(o)...)
}

func (s *statuses) older(values ...string) []string {
	return append(s.deprecated[:2:2], values...)
}
