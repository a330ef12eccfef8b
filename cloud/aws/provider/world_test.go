package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/cloud/aws/zonalshift"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

const profile = "the-profile"

// world is a provider with an account, and an in-memory API server.
type world struct {
	*provider.Provider
	options provider.Options
	t       *testing.T
	account *awstest.Account
	clock   *clocktesting.FakeClock
	class   *awsv1.EC2NodeClass
	pool    *v1.NodePool
	claims  int
}

// newWorld returns a world of some instance types, with a ready class.
func newWorld(t *testing.T, types ...string) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	if len(types) > 0 {
		types = append(types, "m5.metal") // the price list has to have both kinds
	}
	w.account = awstest.New(awstest.Options{Clock: w.clock, Types: types})
	w.account.AddProfile(awstest.Profile{Name: profile, Roles: []string{awstest.Role}})
	w.options.Client = apiserver.New().WithStatusSubresource(&v1.NodeClaim{}, &awsv1.EC2NodeClass{}).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).Build()
	w.useClients(awstest.Connect(t, w.account))
	w.start()
	w.addClass()
	return w
}

// useClients sets the clients of AWS that the next provider has.
func (w *world) useClients(config aws.Config) {
	cluster := controlplane.New("test", eks.NewFromConfig(config))
	cluster.Change(func(f *controlplane.Facts) {
		*f = controlplane.Facts{Endpoint: "https://cluster", CABundle: "Y2E=", DNS: "10.100.0.10", ServiceCIDR: "10.100.0.0/16", Version: "1.34"}
	})
	w.options = provider.Options{
		Options: catalog.Options{
			Settings:   catalog.Settings{Region: config.Region, VMMemoryOverheadPercent: 0.075, ReservesCapacity: true},
			Parameters: ssm.NewFromConfig(config), Prices: pricing.NewFromConfig(config), Clock: w.clock,
			Shifts: zonalshift.New(arczonalshift.NewFromConfig(config), "arn:aws:eks:us-east-1:123456789012:cluster/test", w.clock),
		},
		StrictMinValues: true, Cluster: cluster, EC2: ec2.NewFromConfig(config), Client: w.options.Client,
	}
}

// start makes the provider of a new process: all that it remembers is gone.
func (w *world) start() {
	w.t.Helper()
	w.Provider = provider.New(w.options)
	for _, refresh := range []func(context.Context) error{
		w.Catalog.Inventory.RefreshTypes, w.Catalog.Inventory.RefreshOnDemand, func(ctx context.Context) error { return w.Catalog.Inventory.RefreshSpot(ctx, w.clock.Now()) },
	} {
		if err := refresh(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// addClass adds the class and a pool of it.
func (w *world) addClass() {
	w.t.Helper()
	discovery := map[string]string{"karpenter.sh/discovery": "test"}
	w.class = &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class-uid", Generation: 1}, Spec: awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: discovery}},
		SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
		AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
		Role:                       awstest.Role,
	}}
	if err := w.Client.Create(w.t.Context(), w.class); err != nil {
		w.t.Fatal(err)
	}
	w.resolve(func(*awsv1.EC2NodeClass) {})
	w.pool = &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	w.pool.Spec.Template.Spec.NodeClassRef = w.ref()
	if err := w.Client.Create(w.t.Context(), w.pool); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ref() *v1.NodeClassReference {
	return &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
}

// resolve changes the class and resolves its selectors, as its controller does.
func (w *world) resolve(change func(*awsv1.EC2NodeClass)) {
	w.t.Helper()
	ctx := w.t.Context()
	change(w.class)
	var err error
	status := awsv1.EC2NodeClassStatus{InstanceProfile: profile, Conditions: w.class.Status.Conditions}
	if status.Subnets, err = w.Catalog.Finder.Subnets(ctx, w.class); err != nil {
		w.t.Fatal(err)
	}
	if status.SecurityGroups, err = w.Catalog.Finder.SecurityGroups(ctx, w.class); err != nil {
		w.t.Fatal(err)
	}
	if status.AMIs, err = w.Catalog.Finder.Images(ctx, w.class, "1.34"); err != nil {
		w.t.Fatal(err)
	}
	if status.CapacityReservations, err = w.Catalog.Finder.CapacityReservations(ctx, w.class); err != nil {
		w.t.Fatal(err)
	}
	if err := w.Client.Update(ctx, w.class); err != nil {
		w.t.Fatal(err)
	}
	w.class.Status = status
	set := condition.For(w.class, w.clock.Now())
	for _, dependent := range w.class.ConditionTypes().Dependents {
		set.True(dependent)
	}
	w.saveStatus()
}

func (w *world) saveStatus() {
	w.t.Helper()
	if err := w.Client.Status().Update(w.t.Context(), w.class); err != nil {
		w.t.Fatal(err)
	}
}

// claim is a claim of the pool.
func (w *world) claim(reqs ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	w.t.Helper()
	w.claims++
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("claim-%d", w.claims), UID: types.UID(fmt.Sprintf("uid-%d", w.claims)),
		Labels: map[string]string{v1.NodePoolLabelKey: "pool", awsv1.LabelNodeClass: "default"},
	}}
	claim.Spec.NodeClassRef = w.ref()
	claim.Spec.Requirements = reqs
	return claim
}

// create launches a claim.
func (w *world) create(claim *v1.NodeClaim) *v1.NodeClaim {
	w.t.Helper()
	created, err := w.Create(w.t.Context(), claim)
	if err != nil {
		w.t.Fatal(err)
	}
	return created
}

// providerFacts are the facts about the cluster.
type providerFacts = controlplane.Facts

// kubeletBlock reads a kubelet block.
func kubeletBlock(t *testing.T, text string) map[string]apiextensionsv1.JSON {
	t.Helper()
	class := &awsv1.EC2NodeClass{}
	if err := json.Unmarshal([]byte(`{"spec": {"kubelet": `+text+`}}`), class); err != nil {
		t.Fatal(err)
	}
	return class.Spec.Kubelet
}
