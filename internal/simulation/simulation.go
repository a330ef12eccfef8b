// Package simulation answers "what would Karpenter do with these objects?" without a cluster: the objects come from files,
// the answer is a plan.
//
// Objects are processed as in the controller: by the store that watches update, package translate, package problem and the
// solver. This package adds only what other controllers and the API server would have done to the objects meanwhile, such as
// setting the conditions of pools.
//
// The answer is a pure function of the objects, the cloud's instance types and the options, whatever the order of the
// objects: same input, same bytes.
package simulation

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/internal/served"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// PreferencePolicy is what may be launched for preferences of pods.
type PreferencePolicy = model.PreferencePolicy

// Options are the policies of a run.
type Options struct {
	// Preferences is what may be launched for preferences of pods.
	Preferences PreferencePolicy
	// BestEffortMinValues lowers minValues that cannot be met.
	BestEffortMinValues bool
	// AllocateDevices allocates devices to resource claims; otherwise pods that have any are rejected.
	AllocateDevices bool
	// IgnorePodGroups places each pod as if it had no group.
	IgnorePodGroups bool
	// DefaultSpread are the spread constraints of pods whose spec has none.
	DefaultSpread []corev1.TopologySpreadConstraint
	// RankedDeletionCosts leaves pod deletion costs out of eviction costs, because deletion cost management writes them.
	RankedDeletionCosts bool
	// CompareTolerations lets tolerations with the operators Lt and Gt tolerate taints.
	CompareTolerations bool
	// SpotToSpot lets consolidation replace spot nodes by spot nodes.
	SpotToSpot bool
	// TerminateFirstDrift lets drifted nodes be terminated before their replacements launch, where there is no place for both.
	TerminateFirstDrift bool
	// NodeRepair evaluates the repair policies of the cloud; TerminateFirstRepair is TerminateFirstDrift for unhealthy nodes.
	NodeRepair, TerminateFirstRepair bool
	// OpensDestinations lets consolidation move pods to nodes that are within the consolidateAfter of their pool.
	OpensDestinations bool
	// IgnoreReservations ignores reserved offerings, as a controller does whose gate ReservedCapacity is off.
	IgnoreReservations bool
	// IgnoreOverlays and IgnoreBuffers leave out NodeOverlays and CapacityBuffers, as a controller does whose gate for them is off.
	IgnoreOverlays, IgnoreBuffers bool
	// IgnoreReplicas leaves static NodePools as they are, as a controller does whose gate StaticCapacity is off. Only explanations consider it.
	IgnoreReplicas bool
	// OperationsPolicies considers OperationsPolicies, as a controller does whose gate for them is on.
	OperationsPolicies bool
	// MaxInstanceTypes is how many instance types a claim may list; 0 means the limit of the cloud.
	MaxInstanceTypes int
	// Now is the time of the simulation. It matters only to do-not-disrupt annotations with a duration, and to the windows and freezes of
	// OperationsPolicies.
	Now time.Time
}

// Result is the result of a simulation.
type Result struct {
	// Problem is the input of the solver, Plan its result.
	Problem solve.Problem
	Plan    solve.Plan
	// Claims are the objects that would be created, one for each of Plan.Claims. They have no name yet.
	Claims []*v1.NodeClaim
	// Rejected are pods that cannot be considered at all.
	Rejected []*model.Pod
	// Warning lists the objects that cannot be read and are not considered; nil when all can.
	Warning error
	// Skipped are pools from which no node may be launched.
	Skipped []SkippedPool
	// PoolWarnings are what is allowed in the pools, but has no effect or is probably mistyped, and policies for pools that are not considered.
	PoolWarnings []string
	// Idle are pods without a node for which no node is launched.
	Idle []IdlePod
	// OtherSchedulers are the schedulers beside kube-scheduler that have to place pods of the plan.
	OtherSchedulers []SchedulerPods
	// IgnoredOverlays are overlays that do not apply.
	IgnoredOverlays []IgnoredOverlay
	// Buffers are the CapacityBuffers whose virtual pods are placed, UnresolvedBuffers those without any; each by name.
	Buffers           []ResolvedBuffer
	UnresolvedBuffers []UnresolvedBuffer
	// WaitingGroups are the gangs that kube-scheduler has not placed although existing nodes have capacity for them.
	WaitingGroups []WaitingGroup
	// NodeClaims is how many the pools have. Nothing is simulated that disrupts them; Drifted are the pools whose NodeClaims would be replaced.
	NodeClaims int
	Drifted    []DriftedPool

	owners    map[string]Owner // by pod UID
	templates map[string]map[string]string
}

// SkippedPool is a pool that may not launch, and why.
type SkippedPool struct{ Name, Why string }

// Run simulates one provisioning pass over objects, which should have been expanded (see package manifest): workloads that are
// not expanded to pods have no effect. The objects are not changed.
func Run(ctx context.Context, objects []client.Object, c cloud.Cloud, opts Options) (Result, error) {
	return gather(objects, c, opts).run(ctx, opts)
}

func (w *clusterObjects) run(ctx context.Context, opts Options) (Result, error) {
	c := w.cloud
	provider, leftOut := w.provider(ctx, opts)
	unready := w.setPoolConditions()
	kept, unkept := w.resolveBuffers(ctx, opts)
	in, err := w.builder(provider, opts, w.capsOn(ctx, provider, opts)).Provisioning(ctx, w.snapshot(opts), opts.Now)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Problem:           in.Problem,
		Plan:              solve.Solve(in.Problem),
		Rejected:          in.Rejected,
		Skipped:           skipped(in.Pools, unready),
		PoolWarnings:      slices.Concat(w.policyWarnings(opts), w.poolWarnings(ctx, provider, opts.Now)),
		Warning:           w.unreadable,
		OtherSchedulers:   w.otherSchedulers(),
		IgnoredOverlays:   leftOut,
		Buffers:           kept,
		UnresolvedBuffers: unkept,
		owners:            w.owners(),
		templates:         map[string]map[string]string{},
	}
	r.Idle, r.WaitingGroups = w.idle(r.Plan.OmittedDaemons), w.waitingGroups(r)
	r.NodeClaims, r.Drifted = w.drifted()
	for _, b := range kept {
		for _, pod := range b.Pods {
			r.owners[pod.UID] = b.Owner
		}
	}
	for _, claim := range r.Plan.NodeClaims {
		pool := w.pools[claim.Pool]
		r.templates[claim.Pool] = pool.Spec.Template.Labels
		r.Claims = append(r.Claims, w.translator.NodeClaim(pool, claim, gracePeriod(c)))
	}
	return r, nil
}

func gracePeriod(c cloud.Cloud) *metav1.Duration {
	if c.DefaultTerminationGracePeriod == nil {
		return nil
	}
	return &metav1.Duration{Duration: *c.DefaultTerminationGracePeriod}
}

// clusterObjects are the objects of a simulated cluster: the store, and the objects that the store does not contain.
type clusterObjects struct {
	cloud      cloud.Cloud
	translator *translate.Translator
	store      *cluster.Store
	pools      map[string]*v1.NodePool
	classes    map[string]cloud.NodeClassObject // by group/kind/name
	pods       []*corev1.Pod
	claims     []*v1.NodeClaim
	// deployments are the UIDs of Deployments.
	deployments map[types.UID]bool
	budgets     []policyv1.PodDisruptionBudget
	overlays    []*v1alpha1.NodeOverlay
	policies    []opsv1alpha1.OperationsPolicy
	plans       []*opsv1alpha1.DisruptionPlan
	buffers     []*v1beta1.CapacityBuffer
	autoscalers []prediction.Autoscaler
	// unreadable lists the objects that cannot be read and are not considered.
	unreadable error
	// referenced are the objects that buffers may refer to.
	referenced objectGetter
	// podsOn are the pods of each node, by its name, in a fixed order.
	podsOn map[string][]*corev1.Pod
}

// useRepairPolicies compares nodes with the repair policies of the cloud. Without valid ones, which keep a controller from starting, no node
// counts as unhealthy.
func useRepairPolicies(store *cluster.Store, c cloud.Cloud) {
	if policies, err := translate.RepairPolicies(c.RepairPolicies); err == nil {
		store.Health.Use(policies, slog.New(slog.DiscardHandler))
	}
}

func gather(objects []client.Object, c cloud.Cloud, opts Options) *clusterObjects {
	t := translate.NewWith(c.Labels, translate.Settings{
		IgnorePreferences: opts.Preferences == model.IgnorePreferences, Minor: served.Newest, CompareTolerations: opts.CompareTolerations,
		RankedDeletionCosts: opts.RankedDeletionCosts,
	})
	store := cluster.NewStore(c, t)
	store.Devices.Track()
	store.Devices.TrackExtendedResources()
	if !opts.IgnorePodGroups {
		store.PodGroups.Track()
	}
	store.DefaultSpread.Set(opts.DefaultSpread)
	if opts.NodeRepair {
		useRepairPolicies(store, c)
	}
	w := &clusterObjects{
		cloud:       c,
		translator:  t,
		store:       store,
		pools:       map[string]*v1.NodePool{},
		classes:     map[string]cloud.NodeClassObject{},
		deployments: map[types.UID]bool{},
		referenced:  objectGetter{},
		podsOn:      map[string][]*corev1.Pod{},
		unreadable:  Unreadable(objects),
	}
	// The order of objects in files has no meaning; resource names and the newest daemon pod must not depend on it.
	type named struct {
		identity string
		object   client.Object
	}
	sorted := make([]named, len(objects))
	for i, o := range objects {
		sorted[i] = named{identity(o), o}
	}
	slices.SortStableFunc(sorted, func(a, b named) int { return strings.Compare(a.identity, b.identity) })
	for _, o := range sorted {
		w.add(o.object)
	}
	w.store.UpdatePods(w.pods)
	for _, pod := range w.pods {
		w.store.Daemons.Observe(pod)
		if pod.Spec.NodeName != "" {
			w.podsOn[pod.Spec.NodeName] = append(w.podsOn[pod.Spec.NodeName], pod)
		}
	}
	return w
}

// snapshot is the snapshot of the store, without devices if they are ignored.
func (w *clusterObjects) snapshot(opts Options) *model.Snapshot {
	snapshot := *w.store.Snapshot()
	if !opts.AllocateDevices {
		snapshot.Devices = nil
	}
	return &snapshot
}

func identity(o client.Object) string {
	return strings.Join([]string{o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName(), string(o.GetUID())}, "\x00")
}

func (w *clusterObjects) add(o client.Object) {
	switch o := o.(type) {
	case *v1.NodePool:
		w.pools[o.Name] = o.DeepCopy()
	case *v1alpha1.NodeOverlay:
		w.overlays = append(w.overlays, o)
	case *opsv1alpha1.OperationsPolicy:
		w.policies = append(w.policies, *o)
	case *opsv1alpha1.DisruptionPlan:
		w.plans = append(w.plans, o)
	case *v1beta1.CapacityBuffer:
		w.buffers = append(w.buffers, o)
	case *unstructured.Unstructured:
		w.addAutoscaler(o)
	case *corev1.PodTemplate:
		w.referenced.add(o)
	case *v1.NodeClaim:
		w.claims = append(w.claims, o)
		w.store.UpdateNodeClaim(o)
	case *corev1.Node:
		w.store.UpdateNode(o)
	case *corev1.Pod:
		w.pods = append(w.pods, o)
	case *corev1.Namespace:
		w.store.Namespaces.Update(o)
	case *schedulingv1beta1.PodGroup:
		w.store.PodGroups.Update(o)
	case *resourcev1.DeviceClass:
		w.store.Devices.UpdateDeviceClass(o)
	case *resourcev1.DeviceTaintRule:
		w.store.Devices.UpdateTaintRule(o)
	case *resourcev1.ResourceSlice:
		w.store.Devices.UpdateResourceSlice(o)
	case *resourcev1.ResourceClaim:
		w.store.Devices.UpdateResourceClaim(o)
	case *appsv1.Deployment:
		w.deployments[o.UID] = true
		w.referenced.add(o)
		// Its pods were expanded without a ReplicaSet.
		w.store.DefaultSpread.UpdateOwner(o, translate.Owner{Selector: o.Spec.Selector})
	case *appsv1.ReplicaSet:
		w.referenced.add(o)
		w.store.DefaultSpread.UpdateOwner(o, translate.Owner{Selector: o.Spec.Selector})
	case *appsv1.StatefulSet:
		w.referenced.add(o)
		w.store.DefaultSpread.UpdateOwner(o, translate.Owner{Selector: o.Spec.Selector})
	case *corev1.ReplicationController:
		w.store.DefaultSpread.UpdateOwner(o, translate.ReplicationController(o))
	case *corev1.Service:
		w.store.DefaultSpread.UpdateService(o)
	case *appsv1.DaemonSet:
		w.store.Daemons.Update(o)
	case *policyv1.PodDisruptionBudget:
		w.budgets = append(w.budgets, *o)
	case cloud.NodeClassObject:
		gvk := o.GetObjectKind().GroupVersionKind()
		w.classes[classID(gvk.Group, gvk.Kind, o.GetName())] = o
	default:
		w.addStorage(o)
	}
}

// addStorage adds an object of volumes.
func (w *clusterObjects) addStorage(o client.Object) {
	switch o := o.(type) {
	case *corev1.PersistentVolumeClaim:
		w.store.Volumes.UpdateVolumeClaim(o)
	case *corev1.PersistentVolume:
		w.store.Volumes.UpdateVolume(o)
	case *storagev1.StorageClass:
		w.store.Volumes.UpdateStorageClass(o)
	case *storagev1.CSINode:
		w.store.Volumes.UpdateCSINode(o)
	case *storagev1.CSIDriver:
		w.store.Volumes.UpdateDriver(o)
	case *storagev1.VolumeAttachment:
		w.store.Volumes.UpdateAttachment(o)
	}
}

// addAutoscaler adds a VerticalPodAutoscaler.
func (w *clusterObjects) addAutoscaler(o *unstructured.Unstructured) {
	if o.GroupVersionKind() != prediction.Kind() {
		return
	}
	// Unreadable reports the others.
	if a, err := prediction.Parse(o); err == nil {
		w.autoscalers = append(w.autoscalers, a)
	}
}

// Unreadable returns why PodDisruptionBudgets and VerticalPodAutoscalers among objects cannot be read, so that simulations ignore
// them; nil if all can.
func Unreadable(objects []client.Object) error {
	var budgets []policyv1.PodDisruptionBudget
	var errs []error
	for _, o := range objects {
		switch o := o.(type) {
		case *policyv1.PodDisruptionBudget:
			budgets = append(budgets, *o)
		case *unstructured.Unstructured:
			if o.GroupVersionKind() == prediction.Kind() {
				_, err := prediction.Parse(o)
				errs = append(errs, err)
			}
		}
	}
	_, err := podrules.NewBudgets(budgets)
	return errors.Join(append(errs, err)...)
}

func classID(group, kind, name string) string { return group + "/" + kind + "/" + name }

// Owner is the workload of a pod that takes part in r.
func (r Result) Owner(p *model.Pod) Owner {
	if o, ok := r.owners[p.UID]; ok {
		return o
	}
	return Owner{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
}
