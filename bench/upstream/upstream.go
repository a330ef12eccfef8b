// Package upstream runs sigs.k8s.io/karpenter as a contestant. No other package of the repository calls it.
//
// Only upstream's exported API is used.
package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	upstreamv1 "sigs.k8s.io/karpenter/pkg/apis/v1"                  //nolint:depguard // it is what we measure
	"sigs.k8s.io/karpenter/pkg/cloudprovider"                       //nolint:depguard // it is what we measure
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling" //nolint:depguard // it is what we measure
	"sigs.k8s.io/karpenter/pkg/controllers/state"                   //nolint:depguard // it is what we measure
	"sigs.k8s.io/karpenter/pkg/events"                              //nolint:depguard // it is what we measure
	"sigs.k8s.io/karpenter/pkg/operator/options"                    //nolint:depguard // it is what we measure

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Contestant answers with a new scheduler for every run. Measured are building its topology and the scheduler, solving,
// cutting the instance types to the usual number, and rendering the claims; not the translation into its types.
//
// It may use every core.
func Contestant() contest.Contestant {
	log.SetLogger(logr.Discard())
	return contest.Contestant{Name: "upstream", Prepare: prepare}
}

// problem is the input in upstream's types.
type problem struct {
	pools   []*upstreamv1.NodePool
	types   map[string][]*cloudprovider.InstanceType
	daemons []*corev1.Pod
	pods    []*corev1.Pod
	options []scheduling.Options
	client  client.Client
	cluster *state.Cluster

	claims []*upstreamv1.NodeClaim
	placed int
}

func prepare(in contest.Input) (contest.Run, error) {
	if in.Occupied() {
		return nil, errors.New("upstream is measured with empty clusters only")
	}
	// Upstream reads a cloud's labels from a process-wide set.
	for key := range in.Cloud.Labels.WellKnown {
		upstreamv1.WellKnownLabels.Insert(key)
	}
	q := &problem{
		types:   map[string][]*cloudprovider.InstanceType{},
		options: []scheduling.Options{scheduling.NumConcurrentReconciles(runtime.GOMAXPROCS(0))},
		client:  fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(),
	}
	q.cluster = state.NewCluster(clock.RealClock{}, q.client, noCloud{})
	if in.Preferences == model.IgnorePreferences {
		q.options = append(q.options, scheduling.IgnorePreferences)
	}
	types := instanceTypes(in.Types)
	for _, pool := range in.Pools {
		p := &upstreamv1.NodePool{}
		if err := recode(pool, p); err != nil {
			return nil, fmt.Errorf("translating nodepool %q: %w", pool.Name, err)
		}
		q.pools = append(q.pools, p)
		q.types[p.Name] = types
	}
	for _, set := range in.DaemonSets {
		q.daemons = append(q.daemons, &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: *set.Spec.Template.Spec.DeepCopy()})
	}
	for _, pod := range in.Pods {
		q.pods = append(q.pods, pod.DeepCopy())
	}
	return q, nil
}

// Solve schedules the pods.
func (q *problem) Solve() error {
	opts := &options.Options{
		MinValuesPolicy: options.MinValuesPolicyStrict, PreferencePolicy: options.PreferencePolicyRespect, IgnoreDRARequests: true,
	}
	ctx := opts.ToContext(context.Background())
	topology, err := scheduling.NewTopology(ctx, q.client, q.cluster, nil, q.pools, q.types, q.pods, q.options...)
	if err != nil {
		return fmt.Errorf("building the topology: %w", err)
	}
	scheduler := scheduling.NewScheduler(ctx, q.client, q.pools, q.cluster, nil, topology, q.types, q.daemons, noEvents{},
		clock.RealClock{}, nil, nil, q.options...)
	results, err := scheduler.Solve(ctx, q.pods)
	if err != nil {
		return fmt.Errorf("solving: %w", err)
	}
	results = results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes)
	for _, c := range results.NewNodeClaims {
		q.placed += len(c.Pods)
		q.claims = append(q.claims, c.ToNodeClaim())
	}
	return nil
}

// Answer is what Solve has found, in our types.
func (q *problem) Answer() (contest.Answer, error) {
	a := contest.Answer{Placed: q.placed}
	for _, c := range q.claims {
		claim := &v1.NodeClaim{}
		if err := recode(c, claim); err != nil {
			return contest.Answer{}, fmt.Errorf("translating a nodeclaim: %w", err)
		}
		a.Claims = append(a.Claims, claim)
	}
	return a, nil
}

// recode translates between equal APIs of different Go types.
func recode(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// noCloud is for a cluster without nodes, which does not call its cloud.
type noCloud struct{ cloudprovider.CloudProvider }

// noEvents drops events.
type noEvents struct{}

// Publish does nothing.
func (noEvents) Publish(...events.Event) {}
