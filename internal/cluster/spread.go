package cluster

import (
	"maps"
	"slices"
	"weak"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// DefaultSpread is the part of a Store that adds the cluster-default spread constraints to pods without their own.
//
// Problem: the selector of a default constraint depends on the Services and the controller of each pod, which change. Approach:
// selectors are derived when a pod is translated; a later change marks the affected pods stale, and they are translated again
// before the next Snapshot, once for all changes in between.
type DefaultSpread struct {
	store *Store
	// constraints are empty without cluster-default spread constraints; all events are ignored then.
	constraints []corev1.TopologySpreadConstraint
	// services are the selectors of Services by namespace and name.
	services map[string]map[string]map[string]string
	owners   map[types.UID]translate.Owner
	// pods are those without their own constraints, by namespace and UID; namespaceOf finds them by UID.
	pods        map[string]map[string]*corev1.Pod
	namespaceOf map[string]string
	// selectors are cached.
	selectors map[selectorKey]*topology.Selector
	// staleNamespaces and staleOwners determine which pods have to be translated again; owners have their namespace as value.
	staleNamespaces map[string]bool
	staleOwners     map[types.UID]string
}

// selectorKey is what a selector is derived from, besides the Services of the namespace. It does not keep labels alive.
type selectorKey struct {
	labels weak.Pointer[model.Labels]
	owner  types.UID
}

// maxSelectors limits the cached selectors, some of whose labels may no longer exist.
const maxSelectors = 100_000

// Set sets the constraints of pods without their own. Call it before any event is applied.
func (x *DefaultSpread) Set(constraints []corev1.TopologySpreadConstraint) {
	if len(constraints) == 0 {
		return
	}
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	*x = DefaultSpread{
		store:           x.store,
		constraints:     constraints,
		services:        map[string]map[string]map[string]string{},
		owners:          map[types.UID]translate.Owner{},
		pods:            map[string]map[string]*corev1.Pod{},
		namespaceOf:     map[string]string{},
		selectors:       map[selectorKey]*topology.Selector{},
		staleNamespaces: map[string]bool{},
		staleOwners:     map[types.UID]string{},
	}
}

func (x *DefaultSpread) enabled() bool { return len(x.constraints) > 0 }

// kinds are the kinds that default selectors are derived from.
func (x *DefaultSpread) kinds() []kind {
	forgetOwner := func(o client.Object) { x.DeleteOwner(o) }
	return []kind{
		{&corev1.Service{}, apply(x.UpdateService), forget(func(o *corev1.Service) { x.DeleteService(o.Namespace, o.Name) })},
		{&appsv1.ReplicaSet{}, apply(func(o *appsv1.ReplicaSet) { x.UpdateOwner(o, translate.Owner{Selector: o.Spec.Selector}) }), forget(forgetOwner)},
		{&appsv1.StatefulSet{}, apply(func(o *appsv1.StatefulSet) { x.UpdateOwner(o, translate.Owner{Selector: o.Spec.Selector}) }), forget(forgetOwner)},
		{&corev1.ReplicationController{}, apply(func(o *corev1.ReplicationController) { x.UpdateOwner(o, translate.ReplicationController(o)) }), forget(forgetOwner)},
	}
}

// UpdateService applies the current version of a Service.
func (x *DefaultSpread) UpdateService(service *corev1.Service) {
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	if !x.enabled() {
		return
	}
	before, known := x.services[service.Namespace][service.Name]
	if known && (before == nil) == (service.Spec.Selector == nil) && maps.Equal(before, service.Spec.Selector) {
		return
	}
	if x.services[service.Namespace] == nil {
		x.services[service.Namespace] = map[string]map[string]string{}
	}
	x.services[service.Namespace][service.Name] = service.Spec.Selector
	x.stale(service.Namespace)
}

// DeleteService removes a Service.
func (x *DefaultSpread) DeleteService(namespace, name string) {
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	if !x.enabled() {
		return
	}
	if _, known := x.services[namespace][name]; known {
		delete(x.services[namespace], name)
		x.stale(namespace)
	}
}

// UpdateOwner applies the current version of a workload controller, with its selector.
func (x *DefaultSpread) UpdateOwner(o client.Object, says translate.Owner) {
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	if !x.enabled() {
		return
	}
	if before, known := x.owners[o.GetUID()]; known && sameOwner(before, says) {
		return
	}
	x.owners[o.GetUID()] = says
	x.staleOwner(o)
}

// DeleteOwner removes a workload controller.
func (x *DefaultSpread) DeleteOwner(o client.Object) {
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	if !x.enabled() {
		return
	}
	if _, known := x.owners[o.GetUID()]; known {
		delete(x.owners, o.GetUID())
		x.staleOwner(o)
	}
}

func sameOwner(a, b translate.Owner) bool {
	return maps.Equal(a.Labels, b.Labels) && metav1.FormatLabelSelector(a.Selector) == metav1.FormatLabelSelector(b.Selector)
}

// stale invalidates the selectors and pods of a namespace whose Services changed.
func (x *DefaultSpread) stale(namespace string) {
	if len(x.pods[namespace]) > 0 {
		x.staleNamespaces[namespace] = true
	}
	clear(x.selectors)
}

func (x *DefaultSpread) staleOwner(o client.Object) {
	if len(x.pods[o.GetNamespace()]) > 0 {
		x.staleOwners[o.GetUID()] = o.GetNamespace()
	}
	maps.DeleteFunc(x.selectors, func(d selectorKey, _ *topology.Selector) bool { return d.owner == o.GetUID() })
}

// track records whether a pod gets the default constraints; a nil pod removes the UID.
func (x *DefaultSpread) track(uid string, pod *corev1.Pod) {
	if !x.enabled() {
		return
	}
	if pod == nil || !wantsDefault(pod) {
		namespace := x.namespaceOf[uid]
		delete(x.namespaceOf, uid)
		if delete(x.pods[namespace], uid); len(x.pods[namespace]) == 0 {
			delete(x.pods, namespace)
		}
		return
	}
	x.namespaceOf[uid] = pod.Namespace
	if x.pods[pod.Namespace] == nil {
		x.pods[pod.Namespace] = map[string]*corev1.Pod{}
	}
	x.pods[pod.Namespace][uid] = pod
}

// wantsDefault reports whether a pod gets the default constraints: it has none and belongs to no DaemonSet.
func wantsDefault(pod *corev1.Pod) bool {
	return len(pod.Spec.TopologySpreadConstraints) == 0 && !podrules.OwnedByDaemonSet(pod)
}

// spread returns p, the translation of pod, with the default constraints if it has none. It must be called under the lock.
func (x *DefaultSpread) spread(p *model.Pod, pod *corev1.Pod) *model.Pod {
	if !x.enabled() || !wantsDefault(pod) {
		return p
	}
	selector := x.selector(x.store.translator, p.Labels, controllerOf(pod))
	if selector == nil {
		return p
	}
	return x.store.translator.Spread(p, x.constraints, selector)
}

func (x *DefaultSpread) selector(t *translate.Translator, labels *model.Labels, uid types.UID) *topology.Selector {
	asked := selectorKey{weak.Make(labels), uid}
	if selector, ok := x.selectors[asked]; ok {
		return selector
	}
	var owner *translate.Owner
	if o, ok := x.owners[uid]; ok {
		owner = &o
	}
	services := x.services[labels.Namespace]
	selectors := make([]map[string]string, 0, len(services))
	for _, name := range slices.Sorted(maps.Keys(services)) {
		selectors = append(selectors, services[name])
	}
	selector := t.DefaultSelector(labels, selectors, owner)
	if len(x.selectors) >= maxSelectors {
		clear(x.selectors)
	}
	x.selectors[asked] = selector
	return selector
}

func controllerOf(pod *corev1.Pod) types.UID {
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		return controller.UID
	}
	return ""
}

// retranslateStale translates stale pods again.
func (x *DefaultSpread) retranslateStale() {
	if !x.enabled() || len(x.staleNamespaces)+len(x.staleOwners) == 0 {
		return
	}
	for _, namespace := range x.staleOwners {
		if _, all := x.staleNamespaces[namespace]; !all {
			x.staleNamespaces[namespace] = false
		}
	}
	for namespace, all := range x.staleNamespaces {
		for uid, pod := range x.pods[namespace] {
			if _, concerned := x.staleOwners[controllerOf(pod)]; !all && !concerned {
				continue
			}
			if p, known := x.store.translate(pod), x.store.podByUID(uid); known != nil && known.Shape != p.Shape {
				x.store.putPod(p, podrules.Unplaced(pod))
			}
		}
	}
	clear(x.staleNamespaces)
	clear(x.staleOwners)
}
