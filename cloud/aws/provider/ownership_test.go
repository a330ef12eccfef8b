package provider_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/cloud/aws/template"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

// unfiltered is an EC2 that ignores the filters of lists.
type unfiltered struct{ *ec2.Client }

func (u unfiltered) DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	all := *in
	all.Filters = nil
	return u.Client.DescribeInstances(ctx, &all, o...)
}

func (u unfiltered) DescribeLaunchTemplates(ctx context.Context, in *ec2.DescribeLaunchTemplatesInput, o ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error) {
	all := *in
	all.Filters = nil
	return u.Client.DescribeLaunchTemplates(ctx, &all, o...)
}

// collect runs the collector of instances over a provider.
func (w *world) collect() {
	w.t.Helper()
	shared := deps.New(w.Client, w.clock)
	shared.Cloud, shared.Live = w.Cloud(), w.Client
	g := nodeclaim.NewInstanceGarbage(shared, nodeclaim.NewLifecycle(shared, nil))
	if _, err := g.Reconcile(w.t.Context(), reconcile.Request{}); err != nil {
		w.t.Fatal(err)
	}
}

// state is the state of an instance.
func (w *world) state(id string) string {
	for _, i := range w.account.Instances() {
		if i.ID == id {
			return i.State
		}
	}
	return "gone"
}

func TestInstancesWithoutClaim(t *testing.T) {
	t.Attr("covers", "A343 A344")
	w := newWorld(t, "m5.large")
	w.Instances = instance.NewClient(instance.Options{EC2: unfiltered{ec2.NewFromConfig(awstest.Connect(t, w.account))}, Cluster: "test"})
	ours := map[string]string{awsv1.TagNodePool: "pool", awsv1.TagNodeClass: "default", awsv1.TagClusterName: "test"}
	add := func(age time.Duration, tags map[string]string) string {
		return w.account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1a", Launched: w.clock.Now().Add(-age)}, tags)
	}
	want := map[string]string{
		add(31*time.Second, ours): "shutting-down", add(time.Hour, ours): "shutting-down", add(29*time.Second, ours): "running", add(time.Hour, nil): "running",
		add(time.Hour, map[string]string{awsv1.TagNodePool: "pool", awsv1.TagNodeClass: "default", awsv1.TagClusterName: "another"}): "running",
		add(time.Hour, map[string]string{awsv1.TagClusterName: "test"}):                                                              "running",
	}
	owned := add(time.Hour, ours)
	want[owned] = "running"
	claim := w.claim()
	claim.Status.ProviderID = instance.ProviderID("us-east-1a", owned)
	if err := w.Client.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.collect()
	for id, state := range want {
		if got := w.state(id); got != state {
			t.Errorf("instance %s is %s, want %s", id, got, state)
		}
	}
}

// TestLateRecords writes the provider ID of a NodeClaim long after the launch.
func TestLateRecords(t *testing.T) {
	w := newWorld(t, "m5.large")
	claim := w.claim()
	if err := w.Client.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	created := w.create(claim)
	id, _ := instance.ParseProviderID(created.Status.ProviderID)
	for range 10 {
		w.clock.Step(2 * time.Minute)
		w.collect()
	}
	if got := w.state(id); got != "running" {
		t.Fatalf("the instance is %s before its NodeClaim has its provider ID", got)
	}
	// A NodeClaim that is gone never gets it.
	if err := w.Client.Delete(t.Context(), &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}}); err != nil {
		t.Fatal(err)
	}
	w.collect()
	if got := w.state(id); got != "shutting-down" {
		t.Errorf("the instance of a NodeClaim that is gone is %s", got)
	}
	if again := w.create(claim); again.Status.ProviderID == created.Status.ProviderID {
		t.Error("a launch returns an instance that was terminated")
	}
}

// TestCrashAfterTheLaunch ends the process when EC2 has launched the instances of two NodeClaims by one call, and neither of them has its
// provider ID.
func TestCrashAfterTheLaunch(t *testing.T) {
	w := newWorld(t, "m5.large")
	claims := []*v1.NodeClaim{w.claim(), w.claim()}
	var all sync.WaitGroup
	for _, claim := range claims {
		if err := w.Client.Create(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if _, err := w.Create(t.Context(), claim); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(w.account.Calls("CreateFleet")); n != 1 {
		t.Fatalf("%d calls launched both", n)
	}
	left := w.account.Instances()
	w.start()
	runs := func(id string) bool { return w.state(id) == "pending" || w.state(id) == "running" }
	expect := func(when string, kept bool, claims ...*v1.NodeClaim) {
		t.Helper()
		w.collect()
		for _, i := range left {
			if got := runs(i.ID); got != kept {
				t.Errorf("%s, an instance that the crash left is %s", when, w.state(i.ID))
			}
		}
		for _, claim := range claims {
			if id, _ := instance.ParseProviderID(claim.Status.ProviderID); !runs(id) {
				t.Errorf("%s, the instance of a NodeClaim is %s", when, w.state(id))
			}
		}
	}
	expect("after the restart", true)
	again := []*v1.NodeClaim{w.create(claims[0]), w.create(claims[1])}
	w.clock.Step(29 * time.Second)
	expect("before they are safe to terminate", true, again...)
	w.clock.Step(time.Second)
	expect("30 s after the launch", false, again...)
	for i, claim := range again {
		stored := claims[i].DeepCopy()
		stored.Status = claim.Status
		if err := w.Client.Status().Update(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Step(2 * time.Hour)
	expect("once the NodeClaims are written", false, again...)
	if n := len(w.account.Instances()); n != 4 {
		t.Errorf("%d instances were launched for two NodeClaims, want two before the crash and two after it", n)
	}
}

// TestForeignInstancesAreLeftAlone has a NodeClaim with the provider ID of an instance that is not one of the cluster.
func TestForeignInstancesAreLeftAlone(t *testing.T) {
	w := newWorld(t, "m5.large")
	for name, tags := range map[string]map[string]string{
		"none": nil, "other cluster": {awsv1.TagClusterName: "another", awsv1.ClusterOwnedTag("test"): "owned"}, "shared": {awsv1.ClusterOwnedTag("test"): "shared"},
	} {
		id := w.account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1a", Launched: w.clock.Now()}, tags)
		claim := w.claim()
		claim.Status.ProviderID = instance.ProviderID("us-east-1a", id)
		if err := w.Delete(t.Context(), claim); !errors.Is(err, instance.ErrForeign) {
			t.Errorf("tags %s: %v", name, err)
		} else if why, ok := cloud.AsDeleteError(err); !ok || !strings.Contains(why.Message, id) || !strings.Contains(why.Message, `Set the tag to "test"`) {
			t.Errorf("tags %s: users see %+v", name, why)
		}
		if got := w.state(id); got != "running" {
			t.Errorf("tags %s: the instance is %s", name, got)
		}
		if err := w.Instances.Tag(t.Context(), id, template.Tags(map[string]string{awsv1.TagClusterName: "test"})); err != nil {
			t.Fatal(err)
		}
		if err := w.Delete(t.Context(), claim); err != nil || w.state(id) != "shutting-down" {
			t.Errorf("tags %s: once a user has set the tag: %v, and the instance is %s", name, err, w.state(id))
		}
	}
	legacy := w.account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1a", Launched: w.clock.Now()}, map[string]string{awsv1.ClusterOwnedTag("test"): "owned"})
	claim := w.claim()
	claim.Status.ProviderID = instance.ProviderID("us-east-1a", legacy)
	if err := w.Delete(t.Context(), claim); err != nil {
		t.Errorf("an instance of an earlier release: %v", err)
	}
}

// TestForeignLaunchTemplatesAreLeftAlone removes the templates of a class where EC2 lists all of the account.
func TestForeignLaunchTemplatesAreLeftAlone(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.create(w.claim())
	api := ec2.NewFromConfig(awstest.Connect(t, w.account))
	for name, cluster := range map[string]string{"foreign": "another", "other": "test"} {
		m := template.NewManager(api, w.clock, cluster)
		in := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: new("ami-1")}}
		if err := m.Ensure(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	m := template.NewManager(unfiltered{api}, w.clock, "test")
	if err := m.RemoveAll(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	left, err := api.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(left.LaunchTemplates) != 2 {
		t.Errorf("%v: %d launch templates are left, want the two of others", err, len(left.LaunchTemplates))
	}
}
