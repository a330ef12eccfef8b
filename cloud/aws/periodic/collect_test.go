package periodic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/periodic"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

func TestInstancesWithoutClaim(t *testing.T) {
	t.Attr("covers", "A343 A344")
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account := awstest.New(awstest.Options{Clock: clock, Types: []string{"m5.large"}})
	c := apiserver.New().WithStatusSubresource(&v1.NodeClaim{}).Build()
	p := provider.New(provider.Options{
		Options: catalog.Options{Settings: catalog.Settings{Region: "us-east-1"}, Clock: clock}, EC2: ec2.NewFromConfig(awstest.Connect(t, account)), Client: c,
		Cluster: controlplane.New("test", nil),
	})
	ours := map[string]string{awsv1.TagNodePool: "pool", awsv1.TagNodeClass: "default", awsv1.TagClusterName: "test"}
	add := func(age time.Duration, tags map[string]string) string {
		return account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1a", Launched: clock.Now().Add(-age)}, tags)
	}
	states := map[string]string{}
	for range 50 {
		states[add(31*time.Second, ours)] = "shutting-down"
	}
	orphan := add(time.Hour, ours)
	states[orphan] = "shutting-down"
	states[add(29*time.Second, ours)] = "running"
	states[add(time.Hour, nil)] = "running"
	states[add(time.Hour, map[string]string{awsv1.TagNodePool: "pool", awsv1.TagNodeClass: "default", awsv1.TagClusterName: "another"})] = "running"
	owned := add(time.Hour, ours)
	states[owned] = "running"
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ProviderID = "aws:///us-east-1a/" + owned
	for name, id := range map[string]string{"orphan": orphan, "owned": owned} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/" + id}}
		if err := c.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if err := (periodic.Instances{Instances: p.Instances, Client: c, Clock: clock, Launched: p.Remembers, Manages: p.Cloud().Manages}).Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, i := range account.Instances() {
		got[i.ID] = i.State
	}
	if diff := cmp.Diff(states, got); diff != "" {
		t.Errorf("states of instances (-want +got)\n%s", diff)
	}
	var nodes corev1.NodeList
	if err := c.List(t.Context(), &nodes); err != nil || len(nodes.Items) != 1 || nodes.Items[0].Name != "owned" {
		t.Errorf("%v, nodes %s", err, fmt.Sprint(len(nodes.Items)))
	}
}
