package upstream

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	upstreamv1 "sigs.k8s.io/karpenter/pkg/apis/v1"                            //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/cloudprovider"                                 //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"                        //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/controllers/dynamicresources/deviceallocation" //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"                      //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/controllers/state"                             //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/operator/options"                              //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/state/cost"                                    //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"                             //nolint:depguard // it is what we compare with
	"sigs.k8s.io/karpenter/pkg/test/v1alpha1"                                 //nolint:depguard // it is what we compare with

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Running is a cluster whose nodes have NodeClaims.
type Running struct {
	Occupied
	Claims []*v1.NodeClaim
	// Now is the time in the cluster.
	Now time.Time
	// SpotToSpot lets spot nodes be replaced with spot nodes.
	SpotToSpot bool
}

// Command removes nodes, and launches at most one.
type Command struct {
	// Removed are the names of the nodes; none for no command.
	Removed []string `json:"removed"`
	// Plan are the places of their pods.
	Plan Plan `json:"plan"`
	// Saved is what the command saves in dollars per hour, as upstream estimates it.
	Saved float64 `json:"saved"`
}

// Consolidate returns the command of upstream's multi-node consolidation before its validation.
func Consolidate(r Running) (Command, error) {
	ctx, clk := r.settings(), clocktesting.NewFakeClock(r.Now)
	for key := range r.Cloud.Labels.WellKnown {
		upstreamv1.WellKnownLabels.Insert(key)
	}
	pools, types, err := translated(r.Occupied)
	if err != nil {
		return Command{}, err
	}
	claims, err := r.claims()
	if err != nil {
		return Command{}, err
	}
	provider := catalogOnly{types: types}
	c := r.client(pools, claims)
	cluster := state.NewCluster(clk, c, provider)
	if err := fill(ctx, cluster, claims, r.Objects); err != nil {
		return Command{}, err
	}
	costs := cost.NewClusterCost(ctx, provider, c)
	for _, claim := range claims {
		if err := costs.UpdateNodeClaim(ctx, claim); err != nil {
			return Command{}, fmt.Errorf("pricing nodeclaim %q: %w", claim.Name, err)
		}
	}
	provisioner := provisioning.NewProvisioner(c, noEvents{}, provider, cluster, clk, deviceallocation.NewController(c), virtualpods.NewVirtualPodCache(c))
	queue := disruption.NewQueue(c, noEvents{}, cluster, clk, provisioner)
	method := disruption.NewMultiNodeConsolidation(disruption.MakeConsolidation(clk, cluster, c, provisioner, provider, noEvents{}, queue), disruption.WithValidator(valid{}))
	candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, cluster, c, noEvents{}, clk, provider, method.ShouldDisrupt, method.Class(), queue, costs)
	if err != nil {
		return Command{}, fmt.Errorf("finding candidates: %w", err)
	}
	method.SetNodePoolTotals(totals)
	budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, cluster, clk, c, provider, noEvents{}, method.Reason())
	if err != nil {
		return Command{}, fmt.Errorf("reading budgets: %w", err)
	}
	commands, err := method.ComputeCommands(ctx, budgets, candidates...)
	if err != nil || len(commands) == 0 {
		return Command{}, err
	}
	return r.commandOf(commands[0])
}

func (r Running) settings() context.Context {
	opts := &options.Options{
		MinValuesPolicy: options.MinValuesPolicyStrict, PreferencePolicy: options.PreferencePolicyRespect, IgnoreDRARequests: true,
		FeatureGates: options.DefaultFeatureGates(),
	}
	opts.FeatureGates.SpotToSpotConsolidation = r.SpotToSpot
	if r.IgnorePreferences {
		opts.PreferencePolicy = options.PreferencePolicyIgnore
	}
	if r.BestEffortMinValues {
		opts.MinValuesPolicy = options.MinValuesPolicyBestEffort
	}
	return opts.ToContext(context.Background())
}

// client has the objects of the cluster, with ready pools.
func (r Running) client(pools []*upstreamv1.NodePool, claims []*upstreamv1.NodeClaim) client.Client {
	b := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{Get: getAnywhere}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).                            //nolint:forcetypeassert // it indexes pods
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).                      //nolint:forcetypeassert // it indexes nodes
		WithIndex(&upstreamv1.NodeClaim{}, "status.providerID", func(o client.Object) []string { return []string{o.(*upstreamv1.NodeClaim).Status.ProviderID} }) //nolint:forcetypeassert // it indexes NodeClaims
	for _, o := range r.Objects {
		copied, _ := o.DeepCopyObject().(client.Object)
		b = b.WithObjects(copied)
	}
	for _, pool := range pools {
		ref := pool.Spec.Template.Spec.NodeClassRef
		ref.Group, ref.Kind = v1alpha1.Group, "TestNodeClass"
		for _, kind := range []string{status.ConditionReady, upstreamv1.ConditionTypeValidationSucceeded, upstreamv1.ConditionTypeNodeClassReady} {
			pool.Status.Conditions = append(pool.Status.Conditions, status.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind})
		}
		b = b.WithObjects(pool)
	}
	for _, claim := range claims {
		b = b.WithObjects(claim.DeepCopy())
	}
	return b.Build()
}

// claims are the NodeClaims in upstream's types.
func (r Running) claims() ([]*upstreamv1.NodeClaim, error) {
	out := make([]*upstreamv1.NodeClaim, len(r.Claims))
	for i, claim := range r.Claims {
		out[i] = &upstreamv1.NodeClaim{}
		if err := recode(claim, out[i]); err != nil {
			return nil, fmt.Errorf("translating nodeclaim %q: %w", claim.Name, err)
		}
		ref := out[i].Spec.NodeClassRef
		ref.Group, ref.Kind = v1alpha1.Group, "TestNodeClass"
	}
	return out, nil
}

// commandOf is a command in our types.
func (r Running) commandOf(c disruption.Command) (Command, error) {
	out := Command{Saved: c.EstimatedSavings(), Plan: Plan{Nodes: map[string][]types.UID{}}}
	for _, candidate := range c.Candidates {
		out.Removed = append(out.Removed, candidate.Node.Name)
	}
	for _, replacement := range c.Replacements {
		l := Launch{Claim: &v1.NodeClaim{}, Pods: uids(replacement.Pods)}
		if err := recode(replacement.ToNodeClaim(), l.Claim); err != nil {
			return Command{}, fmt.Errorf("translating a nodeclaim: %w", err)
		}
		for _, pool := range r.Pools {
			if pool.Name == replacement.NodePoolName {
				l.Claim.Spec.NodeClassRef = pool.Spec.Template.Spec.NodeClassRef
			}
		}
		out.Plan.Claims = append(out.Plan.Claims, l)
	}
	for _, n := range c.Results.ExistingNodes {
		if len(n.Pods) > 0 {
			out.Plan.Nodes[n.Node.Name] = append(out.Plan.Nodes[n.Node.Name], uids(n.Pods)...)
		}
	}
	return out, nil
}

// catalogOnly is a cloud provider that lists instance types.
type catalogOnly struct {
	cloudprovider.CloudProvider
	types map[string][]*cloudprovider.InstanceType
}

// GetInstanceTypes are those of the pool.
func (c catalogOnly) GetInstanceTypes(_ context.Context, pool *upstreamv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return c.types[pool.Name], nil
}

// GetSupportedNodeClasses are the kinds of node classes.
func (catalogOnly) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.TestNodeClass{}}
}

// Name is that of the provider.
func (catalogOnly) Name() string { return "catalog" }

// valid accepts each command at once.
type valid struct{}

// Validate returns the command.
func (valid) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}
