package nodeclass_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/catalog"
	"github.com/karpenter-anew/karpenter/cloud/aws/controlplane"
	"github.com/karpenter-anew/karpenter/cloud/aws/devices"
	"github.com/karpenter-anew/karpenter/cloud/aws/nodeclass"
	"github.com/karpenter-anew/karpenter/cloud/aws/profile"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	shared "github.com/karpenter-anew/karpenter/cloud/nodeclass"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// world is the controllers of classes in an account.
type world struct {
	t          *testing.T
	account    *awstest.Account
	clock      *clocktesting.FakeClock
	client     client.WithWatch
	provider   *provider.Provider
	controller *nodeclass.Controller
	hasher     *shared.Hasher[*awsv1.EC2NodeClass]
	events     chan string
}

func newWorld(t *testing.T, change ...func(*provider.Options, *nodeclass.Options)) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.account = awstest.New(awstest.Options{Clock: w.clock, Types: []string{"m5.large", "m6g.large", "g4dn.xlarge", "m5.metal"}})
	w.client = apiserver.New().WithStatusSubresource(&v1.NodeClaim{}, &awsv1.EC2NodeClass{}).Build()
	config := awstest.Connect(t, w.account)
	cluster := controlplane.New("test", eks.NewFromConfig(config))
	cluster.Change(func(f *controlplane.Facts) {
		*f = controlplane.Facts{Endpoint: "https://cluster", DNS: "10.100.0.10", Version: "1.34"}
	})
	po := provider.Options{
		Options: catalog.Options{
			Settings:   catalog.Settings{Region: config.Region, VMMemoryOverheadPercent: 0.075, ReservesCapacity: true},
			Parameters: ssm.NewFromConfig(config), Prices: pricing.NewFromConfig(config), Clock: w.clock,
		},
		Cluster: cluster, EC2: ec2.NewFromConfig(config), Client: w.client,
	}
	n := 0
	sink := record.NewFakeRecorder(10)
	w.events = sink.Events
	no := nodeclass.Options{Client: w.client, Recorder: observe.NewRecorder(sink, w.clock), DryRuns: true, Profiles: profile.NewManager(profile.Options{
		IAM: iam.NewFromConfig(config), Clock: w.clock, Cluster: "test", Region: config.Region, Unique: func() string { n++; return fmt.Sprint(n) },
	})}
	for _, c := range change {
		c(&po, &no)
	}
	w.provider = provider.New(po)
	if err := w.provider.Catalog.Inventory.RefreshTypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.provider.Catalog.Inventory.RefreshOnDemand(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.provider.Catalog.Inventory.RefreshSpot(t.Context(), w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	no.Catalog, no.Requests, no.EC2 = w.provider.Catalog, w.provider.Requests, w.provider.EC2.(nodeclass.EC2)
	w.controller, w.hasher = nodeclass.New(no), nodeclass.NewHasher(no)
	return w
}

// add adds a class like most.
func (w *world) add(change func(*awsv1.EC2NodeClass)) {
	w.t.Helper()
	discovery := map[string]string{"karpenter.sh/discovery": "test"}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class-uid", Generation: 1}, Spec: awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: discovery}},
		SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
		AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
		Role:                       awstest.Role,
	}}
	if change != nil {
		change(class)
	}
	if err := w.client.Create(w.t.Context(), class); err != nil {
		w.t.Fatal(err)
	}
}

// change changes the class, as users do.
func (w *world) change(change func(*awsv1.EC2NodeClass)) {
	w.t.Helper()
	class := w.class()
	change(class)
	class.Generation++
	if err := w.client.Update(w.t.Context(), class); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) class() *awsv1.EC2NodeClass {
	w.t.Helper()
	class := &awsv1.EC2NodeClass{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
		w.t.Fatal(err)
	}
	return class
}

// reconcile reconciles the class and shows it.
func (w *world) reconcile() (*awsv1.EC2NodeClass, reconcile.Result, error) {
	w.t.Helper()
	result, err := w.controller.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "default"}})
	return w.class(), result, err
}

// show is a condition: its status, and reason and message if it is not true.
func show(class *awsv1.EC2NodeClass, kind string) string {
	for _, c := range class.Status.Conditions {
		if c.Type == kind {
			if c.Status == metav1.ConditionTrue {
				return "True"
			}
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return "absent"
}

// expect reconciles and compares a condition.
func (w *world) expect(kind, want string) *awsv1.EC2NodeClass {
	w.t.Helper()
	class, _, err := w.reconcile()
	if got := show(class, kind); !strings.HasPrefix(got, want) {
		w.t.Errorf("%s is %q, want %q (%v)", kind, got, want, err)
	}
	return class
}

func TestAClassBecomesReady(t *testing.T) {
	w := newWorld(t)
	w.add(nil)
	class, result, err := w.reconcile()
	if err != nil || show(class, awsv1.ConditionTypeReady) != "True" || result.RequeueAfter != time.Minute {
		t.Fatalf("%v, %v, %+v", err, result, class.Status.Conditions)
	}
	s := class.Status
	if len(s.Subnets) != 3 || s.Subnets[0].ID != "subnet-a1" || len(s.SecurityGroups) != 2 || len(s.AMIs) != 5 || !strings.HasPrefix(s.InstanceProfile, "test_") ||
		class.Finalizers[0] != awsv1.TerminationFinalizer {
		t.Errorf("%+v", class)
	}
	w.account.Forget()
	version := class.ResourceVersion
	w.clock.Step(time.Minute)
	w.account.AddSubnet(awstest.Subnet{ID: "subnet-b1", Zone: "us-east-1b", Free: 5000, Tags: map[string]string{"karpenter.sh/discovery": "test"}, ZoneID: "use1-az2"})
	if class, _, err := w.reconcile(); err != nil || class.ResourceVersion != version || len(w.account.Calls("CreateFleet")) != 0 {
		t.Errorf("nothing but the order of subnets has changed, and: %v, %d dry runs", err, len(w.account.Calls("CreateFleet")))
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Attr("covers", "A092 A093")
	t.Run("no subnets", func(t *testing.T) {
		t.Attr("covers", "A085 A148")
		w := newWorld(t)
		w.add(nil)
		w.account.RemoveSubnets()
		class := w.expect(awsv1.ConditionTypeSubnetsReady, "False SubnetsNotFound: SubnetSelector did not match any Subnets")
		if len(class.Status.Subnets) != 0 || show(class, awsv1.ConditionTypeValidationSucceeded) != "False DependenciesNotReady: Awaiting AMI, Instance Profile, Security Group, and Subnet resolution" ||
			!strings.HasPrefix(show(class, awsv1.ConditionTypeReady), "False") {
			t.Errorf("%+v", class.Status)
		}
	})
	t.Run("subnets that go, and others that come", func(t *testing.T) {
		t.Attr("covers", "A084 A085")
		w := newWorld(t)
		w.add(nil)
		w.expect(awsv1.ConditionTypeReady, "True")
		w.change(func(c *awsv1.EC2NodeClass) {
			c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-d1"}}
		})
		if class := w.expect(awsv1.ConditionTypeReady, "True"); len(class.Status.Subnets) != 1 || class.Status.Subnets[0].ID != "subnet-d1" {
			t.Errorf("subnets %v", class.Status.Subnets)
		}
		w.account.RemoveSubnets()
		w.clock.Step(time.Minute)
		if class := w.expect(awsv1.ConditionTypeSubnetsReady, "False SubnetsNotFound"); len(class.Status.Subnets) != 0 {
			t.Errorf("subnets %v", class.Status.Subnets)
		}
	})
	t.Run("no security groups", func(t *testing.T) {
		t.Attr("covers", "A089 A148")
		w := newWorld(t)
		w.add(nil)
		w.expect(awsv1.ConditionTypeReady, "True")
		w.account.RemoveSecurityGroups()
		w.clock.Step(time.Minute)
		class := w.expect(awsv1.ConditionTypeSecurityGroupsReady, "False SecurityGroupsNotFound: SecurityGroupSelector did not match any SecurityGroups")
		if len(class.Status.SecurityGroups) != 0 || !strings.HasPrefix(show(class, awsv1.ConditionTypeValidationSucceeded), "False DependenciesNotReady") {
			t.Errorf("%+v", class.Status)
		}
	})
	t.Run("no images", func(t *testing.T) {
		t.Attr("covers", "A148")
		w := newWorld(t)
		family := "AL2023"
		w.add(func(c *awsv1.EC2NodeClass) {
			c.Spec.AMIFamily, c.Spec.AMISelectorTerms = &family, []awsv1.AMISelectorTerm{{Name: "nothing"}}
		})
		w.expect(awsv1.ConditionTypeAMIsReady, "False AMINotFound: AMISelector did not match any AMIs")
		w.expect(awsv1.ConditionTypeValidationSucceeded, "False DependenciesNotReady")
	})
	t.Run("no word from IAM", func(t *testing.T) {
		t.Attr("covers", "A133 A148")
		w := newWorld(t)
		w.account.Fail("CreateInstanceProfile", "AccessDenied", "no", -1)
		w.add(nil)
		if _, _, err := w.reconcile(); err == nil {
			t.Error("the failure is not told")
		}
		w.expect(awsv1.ConditionTypeInstanceProfileReady, "Unknown")
		w.expect(awsv1.ConditionTypeValidationSucceeded, "Unknown DependenciesNotReady")
	})
	for _, test := range []struct{ name, alias, want string }{
		{"AL2", "al2@latest", "False UnsupportedAlias: AL2 aliases are no longer supported on EKS 1.33+"},
		{"Windows 2025", "windows2025@latest", "False UnsupportedAlias: Windows Server 2025 requires EKS version 1.35 or higher"},
		{"a malformed alias", "al2023@a@b", "False UnsupportedAlias: alias"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.add(func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = test.alias })
			if class := w.expect(awsv1.ConditionTypeAMIsReady, test.want); len(class.Status.AMIs) != 0 {
				t.Errorf("images %v", class.Status.AMIs)
			}
		})
	}
}

func TestFailingCallsChangeNothing(t *testing.T) {
	w := newWorld(t)
	w.add(nil)
	w.expect(awsv1.ConditionTypeReady, "True")
	for _, call := range []string{"DescribeSubnets", "DescribeSecurityGroups", "DescribeImages"} {
		w.account.Fail(call, "InternalError", "no", 1)
	}
	w.clock.Step(time.Minute)
	class, _, err := w.reconcile()
	if err == nil || show(class, awsv1.ConditionTypeReady) != "True" || len(class.Status.Subnets) != 3 || len(class.Status.AMIs) != 5 {
		t.Errorf("%v, %+v", err, class.Status)
	}
}

func TestReservationsInTheStatus(t *testing.T) {
	t.Attr("covers", "A111 A114")
	for on, want := range map[bool]string{true: "True", false: "absent"} {
		w := newWorld(t, func(o *provider.Options, _ *nodeclass.Options) { o.ReservesCapacity = on })
		w.account.AddReservation(awstest.Reservation{ID: "cr-1", InstanceType: "m5.large", Zone: "us-east-1a", Kind: "capacity-block", End: w.clock.Now().Add(40*time.Minute + 30*time.Second)})
		w.add(func(c *awsv1.EC2NodeClass) {
			c.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
		})
		class := w.expect(awsv1.ConditionTypeCapacityReservationsReady, want)
		if len(class.Status.CapacityReservations) != map[bool]int{true: 1}[on] || show(class, awsv1.ConditionTypeReady) != "True" {
			t.Errorf("%t: %+v", on, class.Status)
		}
		w.clock.Step(time.Minute)
		if class := w.expect(awsv1.ConditionTypeReady, "True"); on && class.Status.CapacityReservations[0].State != awsv1.CapacityReservationStateExpiring {
			t.Errorf("%+v", class.Status.CapacityReservations)
		}
	}
}

func TestPlacementGroupsInTheStatus(t *testing.T) {
	name := "close"
	w := newWorld(t)
	w.account.AddPlacementGroup(awstest.PlacementGroup{ID: "pg-1", Name: name, Strategy: "cluster"})
	w.add(nil)
	w.expect(awsv1.ConditionTypePlacementGroupReady, "True")
	other := "missing"
	w.change(func(c *awsv1.EC2NodeClass) {
		c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: &other}
	})
	t.Run("not found", func(t *testing.T) {
		t.Attr("covers", "A117")
		w.expect(awsv1.ConditionTypePlacementGroupReady, `False PlacementGroupNotFound: Placement group "missing" not found`)
	})
	t.Run("another selector", func(t *testing.T) {
		t.Attr("covers", "A122")
		w.change(func(c *awsv1.EC2NodeClass) {
			c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: &name}
		})
		w.expect(awsv1.ConditionTypeReady, "True")
		w.change(func(c *awsv1.EC2NodeClass) { c.Spec.PlacementGroupSelector = nil })
		w.expect(awsv1.ConditionTypeReady, "True")
	})
	t.Run("a failing call", func(*testing.T) {
		third := "third"
		w.account.Fail("DescribePlacementGroups", "InternalError", "no", 1)
		w.change(func(c *awsv1.EC2NodeClass) {
			c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: &third}
		})
		w.expect(awsv1.ConditionTypePlacementGroupReady, "False PlacementGroupResolutionFailed: Failed to resolve placement group")
	})
}

func TestServiceCIDR(t *testing.T) {
	t.Attr("covers", "A137")
	for name, test := range map[string]struct{ v4, v6, want string }{
		"IPv4": {"10.0.0.0/16", "", "10.0.0.0/16"}, "IPv6": {"", "fd00::/108", "fd00::/108"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.account.SetCluster(awstest.Cluster{Name: "test", Version: "1.34", ServiceIPv4CIDR: test.v4, ServiceIPv6CIDR: test.v6})
			w.add(nil)
			w.expect(awsv1.ConditionTypeReady, "True")
			if got := w.provider.Cluster.Facts().ServiceCIDR; got != test.want {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("it cannot be found out", func(t *testing.T) {
		t.Attr("covers", "A138")
		w := newWorld(t)
		w.account.Fail("DescribeCluster", "AccessDeniedException", "no", -1)
		w.add(nil)
		w.expect(awsv1.ConditionTypeValidationSucceeded, "False ClusterCIDRResolutionFailed: Failed to detect the cluster CIDR")
	})
	t.Run("only AL2023 asks", func(t *testing.T) {
		t.Attr("covers", "A137")
		w := newWorld(t)
		w.account.Fail("DescribeCluster", "AccessDeniedException", "no", -1)
		w.add(func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "bottlerocket@latest" })
		w.expect(awsv1.ConditionTypeReady, "True")
	})
}

func TestWhatTheClassItselfShows(t *testing.T) {
	t.Attr("covers", "A139 A140 A141 A142 A143 A144")
	for _, test := range []struct {
		name, want, alias, kubelet string
		tags                       map[string]string
	}{
		{"tags", "False TagValidationFailed: tags failed validation requirements", "", "", map[string]string{"karpenter.sh/nodepool": "x"}},
		{"thresholds", "False InvalidKubeletConfiguration", "", `{"imageGCHighThresholdPercent": 10, "imageGCLowThresholdPercent": 50}`, nil},
		{"a field that is dropped", "False UnsupportedKubeletConfiguration", "bottlerocket@latest", `{"serializeImagePulls": false}`, nil},
		{"AL2023 takes it", "True", "", `{"serializeImagePulls": false}`, nil},
		{"podsPerCore on Bottlerocket", "False UnsupportedKubeletConfiguration", "bottlerocket@latest", `{"podsPerCore": 4}`, nil},
		{"podsPerCore on AL2023", "True", "", `{"podsPerCore": 4}`, nil},
		{"several addresses", "False UnsupportedKubeletConfiguration", "bottlerocket@latest", `{"clusterDNS": ["10.0.0.1", "10.0.0.2"]}`, nil},
		{"on AL2023", "True", "", `{"clusterDNS": ["10.0.0.1", "10.0.0.2"]}`, nil},
		{"expressions", "False KubeletExpressionsDisabled", "", `{"maxPods": "vcpus * 10"}`, nil},
		{"plain values", "True", "", `{"maxPods": 20, "kubeReserved": {"cpu": "100m"}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.add(func(c *awsv1.EC2NodeClass) {
				c.Spec.Tags = test.tags
				if test.alias != "" {
					c.Spec.AMISelectorTerms[0].Alias = test.alias
				}
				c.Spec.Kubelet = block(t, test.kubelet)
			})
			w.expect(awsv1.ConditionTypeValidationSucceeded, test.want)
		})
	}
}

func TestSharedGPUs(t *testing.T) {
	t.Attr("covers", "N333")
	driver := func(o *provider.Options, _ *nodeclass.Options) { o.PlansGPUs = true }
	none := func(*provider.Options, *nodeclass.Options) {}
	for _, test := range []struct {
		annotation, want string
		with             func(*provider.Options, *nodeclass.Options)
	}{
		{"", "True", none},
		{"disabled", "True", none},
		{"memory", "False DRADisabled: annotation karpenter.k8s.aws/nvidia-consumable-capacity needs the feature gate DRANVIDIAGPU", none},
		{"memory", "True", driver},
		{"4", "True", driver},
		{"some", `False NVIDIAConsumableCapacityInvalid: annotation karpenter.k8s.aws/nvidia-consumable-capacity: "some" is not allowed`, driver},
		{"0", "False NVIDIAConsumableCapacityInvalid", none},
	} {
		w := newWorld(t, test.with)
		w.add(func(c *awsv1.EC2NodeClass) {
			c.Annotations = map[string]string{devices.SharingAnnotation: test.annotation}
		})
		w.expect(awsv1.ConditionTypeValidationSucceeded, test.want)
	}
}

// TestTheFirstDefectIsReported has a class with all defects, which are repaired one after the other.
func TestTheFirstDefectIsReported(t *testing.T) {
	t.Attr("covers", "N313")
	w := newWorld(t, evaluating)
	w.account.Fail("DescribeCluster", "AccessDeniedException", "no", -1)
	w.account.Fail("CreateFleet", "UnauthorizedOperation", "no", -1)
	w.add(func(c *awsv1.EC2NodeClass) {
		c.Spec.Tags = map[string]string{"karpenter.sh/nodepool": "x"}
		c.Spec.SubnetSelectorTerms[0].Tags = map[string]string{"karpenter.sh/discovery": "test", "missing": "x"}
		c.Spec.Kubelet = block(t, `{"unknown": 1, "maxPods": "vcpus *", "serializeImagePulls": false}`)
	})
	kubelet := func(text string) func() {
		return func() { w.change(func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = block(t, text) }) }
	}
	for _, step := range []struct {
		repair func()
		want   string
	}{
		{nil, "False ClusterCIDRResolutionFailed"},
		{func() { w.account.Recover("DescribeCluster") }, `False InvalidKubeletConfiguration: spec.kubelet: unknown field "unknown"`},
		{kubelet(`{"maxPods": "vcpus *", "serializeImagePulls": false}`), "False KubeletExpressionInvalid"},
		{kubelet(`{"maxPods": "vcpus - 3", "serializeImagePulls": false}`), "False DependenciesNotReady"}, // AL2023 takes any field
		{func() {
			w.change(func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "bottlerocket@latest" })
		}, "False UnsupportedKubeletConfiguration"},
		{kubelet(`{"maxPods": "vcpus - 3"}`), "False DependenciesNotReady"},
		{func() {
			w.change(func(c *awsv1.EC2NodeClass) { delete(c.Spec.SubnetSelectorTerms[0].Tags, "missing") })
		}, "False KubeletExpressionEvaluationFailed"},
		{kubelet(`{"maxPods": "vcpus * 3"}`), "False TagValidationFailed"},
		{func() { w.change(func(c *awsv1.EC2NodeClass) { c.Spec.Tags = nil }) }, "False CreateFleetAuthCheckFailed"},
		{func() { w.account.Recover("CreateFleet"); kubelet(`{"maxPods": "vcpus * 4"}`)() }, "True"}, // the result for another block is no result for this one
	} {
		if step.repair != nil {
			step.repair()
		}
		w.expect(awsv1.ConditionTypeValidationSucceeded, step.want)
	}
}

// block reads a kubelet block.
func block(t *testing.T, text string) map[string]apiextensionsv1.JSON {
	t.Helper()
	if text == "" {
		return nil
	}
	class := &awsv1.EC2NodeClass{}
	if err := json.Unmarshal([]byte(`{"spec": {"kubelet": `+text+`}}`), class); err != nil {
		t.Fatal(err)
	}
	return class.Spec.Kubelet
}
