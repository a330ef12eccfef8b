package upstream

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	upstreamv1 "sigs.k8s.io/karpenter/pkg/apis/v1"                  //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/cloudprovider"                       //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling" //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/controllers/state"                   //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/operator/options"                    //nolint:depguard // it is what we compare with
	upstreamscheduling "sigs.k8s.io/karpenter/pkg/scheduling"       //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"                      //nolint:depguard // it is what we compare with

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Occupied is a cluster with nodes, volumes and namespaces, as its API server would return it.
type Occupied struct {
	// Cloud has the rules for labels; its provider is not called.
	Cloud cloud.Cloud
	// Types are what each pool may launch, by its name.
	Types map[string][]*cloud.InstanceType
	Pools []*v1.NodePool
	// Daemons are pods of DaemonSets, one for each.
	Daemons []*corev1.Pod
	// Pods wait for a node; Objects are all other objects, pods on nodes included.
	Pods    []*corev1.Pod
	Objects []client.Object
	// IgnorePreferences leaves out preferred terms and soft spreads.
	IgnorePreferences bool
	// BestEffortMinValues lowers minValues that cannot be met.
	BestEffortMinValues bool
}

// Plan is where upstream puts pods, each by its UID.
type Plan struct {
	Claims []Launch `json:"claims"`
	// Nodes are the pods on existing nodes, by the name of the node.
	Nodes map[string][]types.UID `json:"nodes"`
}

// Launch is a NodeClaim with its pods.
type Launch struct {
	Claim *v1.NodeClaim `json:"claim"`
	Pods  []types.UID   `json:"pods"`
}

// PlanFor schedules the pods of a cluster with upstream's scheduler, as its provisioner does.
func PlanFor(o Occupied) (Plan, error) {
	for key := range o.Cloud.Labels.WellKnown {
		upstreamv1.WellKnownLabels.Insert(key)
	}
	opts := &options.Options{MinValuesPolicy: options.MinValuesPolicyStrict, PreferencePolicy: options.PreferencePolicyRespect, IgnoreDRARequests: true}
	if o.IgnorePreferences {
		opts.PreferencePolicy = options.PreferencePolicyIgnore
	}
	if o.BestEffortMinValues {
		opts.MinValuesPolicy = options.MinValuesPolicyBestEffort
	}
	ctx := opts.ToContext(context.Background())
	onNode := func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} } //nolint:forcetypeassert // it indexes pods
	all := slices.Clone(o.Objects)
	for _, pod := range o.Pods {
		all = append(all, pod)
	}
	for i, object := range all {
		all[i], _ = object.DeepCopyObject().(client.Object)
	}
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithIndex(&corev1.Pod{}, "spec.nodeName", onNode).
		WithInterceptorFuncs(interceptor.Funcs{Get: getAnywhere}).WithObjects(all...).Build()
	cluster, err := occupied(ctx, c, o.Objects)
	if err != nil {
		return Plan{}, err
	}
	pools, listed, err := translated(o)
	if err != nil {
		return Plan{}, err
	}
	pods, volumes, err := schedulable(ctx, c, o.Pods)
	if err != nil {
		return Plan{}, err
	}
	nodes := cluster.DeepCopyNodes()
	settings := []scheduling.Options{scheduling.MinValuesPolicy(opts.MinValuesPolicy)}
	if o.IgnorePreferences {
		settings = append(settings, scheduling.IgnorePreferences)
	}
	topology, err := scheduling.NewTopology(ctx, c, cluster, nodes, pools, listed, pods, settings...)
	if err != nil {
		return Plan{}, fmt.Errorf("building the topology: %w", err)
	}
	scheduler := scheduling.NewScheduler(ctx, c, pools, cluster, nodes, topology, listed, o.Daemons, noEvents{}, clock.RealClock{}, volumes, nil, settings...)
	results, err := scheduler.Solve(ctx, pods)
	if err != nil {
		return Plan{}, fmt.Errorf("solving: %w", err)
	}
	return planOf(results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes))
}

// getAnywhere ignores the namespace of a key for kinds without namespaces, as the API server does.
func getAnywhere(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	switch into.(type) {
	case *corev1.PersistentVolume, *corev1.Node, *storagev1.StorageClass, *storagev1.CSINode:
		key.Namespace = ""
	}
	return c.Get(ctx, key, into, opts...)
}

// occupied is upstream's state of a cluster.
func occupied(ctx context.Context, c client.Client, objects []client.Object) (*state.Cluster, error) {
	cluster := state.NewCluster(clock.RealClock{}, c, noCloud{})
	return cluster, fill(ctx, cluster, nil, objects)
}

// fill adds the objects of a cluster to upstream's state of it.
func fill(ctx context.Context, cluster *state.Cluster, claims []*upstreamv1.NodeClaim, objects []client.Object) error {
	for _, claim := range claims {
		cluster.UpdateNodeClaim(claim)
	}
	for _, o := range objects {
		if node, ok := o.(*corev1.Node); ok {
			if err := cluster.UpdateNode(ctx, node.DeepCopy()); err != nil {
				return fmt.Errorf("updating upstream with node %q: %w", node.Name, err)
			}
		}
	}
	for _, o := range objects {
		var err error
		switch o := o.(type) {
		case *corev1.Pod:
			err = cluster.UpdatePod(ctx, o.DeepCopy())
		case *appsv1.DaemonSet:
			err = cluster.UpdateDaemonSet(ctx, o.DeepCopy())
		}
		if err != nil {
			return fmt.Errorf("updating upstream with %T %q: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// translated are the pools in upstream's order, and their instance types in upstream's types.
func translated(o Occupied) ([]*upstreamv1.NodePool, map[string][]*cloudprovider.InstanceType, error) {
	var pools []*upstreamv1.NodePool
	listed := map[string][]*cloudprovider.InstanceType{}
	for _, pool := range o.Pools {
		p := &upstreamv1.NodePool{}
		if err := recode(pool, p); err != nil {
			return nil, nil, fmt.Errorf("translating nodepool %q: %w", pool.Name, err)
		}
		pools = append(pools, p)
		listed[p.Name] = instanceTypes(o.Types[p.Name])
	}
	nodepool.OrderByWeight(pools) // as its provisioner does
	return pools, listed, nil
}

// schedulable are the pods whose volume claims can be used, with what these require.
func schedulable(ctx context.Context, c client.Client, list []*corev1.Pod) ([]*corev1.Pod, map[types.UID][]upstreamscheduling.Requirements, error) {
	volumes := scheduling.NewVolumeTopology(c)
	required := map[types.UID][]upstreamscheduling.Requirements{}
	var out []*corev1.Pod
	for _, pod := range list {
		pod = pod.DeepCopy()
		if volumes.ValidatePersistentVolumeClaims(ctx, pod) != nil {
			continue // as its provisioner does, with an event
		}
		requirements, err := volumes.GetRequirements(ctx, pod)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the volumes of pod %q: %w", pod.Name, err)
		}
		if len(requirements) > 0 {
			required[pod.UID] = requirements
		}
		out = append(out, pod)
	}
	return out, required, nil
}

func planOf(results scheduling.Results) (Plan, error) {
	plan := Plan{Nodes: map[string][]types.UID{}}
	for _, c := range results.NewNodeClaims {
		l := Launch{Claim: &v1.NodeClaim{}, Pods: uids(c.Pods)}
		if err := recode(c.ToNodeClaim(), l.Claim); err != nil {
			return Plan{}, fmt.Errorf("translating a nodeclaim: %w", err)
		}
		plan.Claims = append(plan.Claims, l)
	}
	for _, n := range results.ExistingNodes {
		if len(n.Pods) > 0 {
			plan.Nodes[n.Name()] = append(plan.Nodes[n.Name()], uids(n.Pods)...)
		}
	}
	return plan, nil
}

func uids(pods []*corev1.Pod) []types.UID {
	out := make([]types.UID, len(pods))
	for i, pod := range pods {
		out[i] = pod.UID
	}
	return out
}

// Placed are all pods of the plan, sorted.
func (p Plan) Placed() []types.UID {
	var out []types.UID
	for _, launch := range p.Claims {
		out = append(out, launch.Pods...)
	}
	for _, pods := range p.Nodes {
		out = append(out, pods...)
	}
	slices.Sort(out)
	return out
}
