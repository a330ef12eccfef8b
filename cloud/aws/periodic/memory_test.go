package periodic_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/periodic"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

func TestMemoryIsLearnedFromRegisteredNodes(t *testing.T) {
	t.Attr("covers", "A216")
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account := awstest.New(awstest.Options{Clock: clock, Types: []string{"m5.large"}})
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-a1", Zone: "us-east-1a"}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ImageID, claim.Status.NodeName = "ami-1", "node"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}}}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("7700Mi")}
	c := apiserver.New().WithObjects(class, claim).Build()
	p := provider.New(provider.Options{
		Options: catalog.Options{Settings: catalog.Settings{Region: "us-east-1"}, Clock: clock}, EC2: ec2.NewFromConfig(awstest.Connect(t, account)), Client: c,
		Cluster: controlplane.New("test", nil),
	})
	if err := p.Catalog.Inventory.RefreshTypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	learned := func(manages bool) string {
		t.Helper()
		all := func(*v1.NodeClassReference) bool { return manages }
		m := periodic.MemoryDiscovery{Catalog: p.Catalog, Client: c, Manages: all}
		if _, err := m.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "claim"}}); err != nil {
			t.Fatal(err)
		}
		listed, err := p.Catalog.Types(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		return listed[0].Capacity.Memory().String()
	}
	change := func(o client.Object) {
		t.Helper()
		if err := c.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	const estimate = "8Gi" // nothing is taken off here
	claim.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeRegistered, Status: metav1.ConditionTrue}}
	change(claim)
	if got := learned(true); got != estimate {
		t.Errorf("without node: %s", got)
	}
	if err := c.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if got := learned(false); got != estimate {
		t.Errorf("from another cloud: %s", got)
	}
	claim.Status.Conditions[0].Status = metav1.ConditionUnknown
	change(claim)
	if got := learned(true); got != estimate {
		t.Errorf("before it is registered: %s", got)
	}
	claim.Status.Conditions[0].Status = metav1.ConditionTrue
	change(claim)
	if got := learned(true); got != "7700Mi" {
		t.Errorf("once it is registered: %s", got)
	}
}
