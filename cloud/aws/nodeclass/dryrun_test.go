package nodeclass_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/nodeclass"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
)

func TestTrying(t *testing.T) {
	t.Attr("covers", "A149 A151 A162")
	for _, test := range []struct{ name, call, code, message, want string }{
		{"templates", "CreateLaunchTemplate", "UnauthorizedOperation", "no", "False CreateLaunchTemplateAuthCheckFailed: Controller isn't authorized to call ec2:CreateLaunchTemplate: User is not authorized"},
		{"fleets", "CreateFleet", "UnauthorizedOperation", "no", "False CreateFleetAuthCheckFailed: Controller isn't authorized to call ec2:CreateFleet: User is not authorized"},
		{"instances", "RunInstances", "UnauthorizedOperation", "no", "False RunInstancesAuthCheckFailed: Controller isn't authorized to call ec2:RunInstances: User is not authorized"},
		{"user data", "CreateLaunchTemplate", "InvalidUserData.Malformed", "User data is limited to 16384 bytes", "False UserDataSizeLimitExceeded: ec2:CreateLaunchTemplate rejected the rendered user data as too large: Rendered user data exceeds the EC2 user data size limit"},
		{"other trouble with it", "CreateLaunchTemplate", "InvalidUserData.Malformed", "Invalid BASE64", "Unknown AwaitingReconciliation"},
		{"limited", "CreateFleet", awstest.Throttled, "slow down", "Unknown AwaitingReconciliation"},
		{"fault of EC2", "RunInstances", "InternalError", "no", "Unknown AwaitingReconciliation"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.account.Fail(test.call, test.code, test.message, -1)
			w.add(nil)
			w.expect(awsv1.ConditionTypeValidationSucceeded, test.want)
			if test.code == "UnauthorizedOperation" {
				w.account.Recover(test.call)
				w.expect(awsv1.ConditionTypeValidationSucceeded, test.want) // it is remembered
				w.clock.Step(31 * time.Minute)
				w.expect(awsv1.ConditionTypeReady, "True")
			}
			w.account.Recover(test.call)
		})
	}
	t.Run("a fault in one subnet", func(t *testing.T) {
		t.Attr("covers", "A152")
		w := newWorld(t)
		w.account.Fail("RunInstances", "InternalError", "no", 2)
		w.add(nil)
		w.expect(awsv1.ConditionTypeReady, "True")
	})
	own := "mine"
	t.Run("a custom profile that does not exist", func(t *testing.T) {
		t.Attr("covers", "A153 N320")
		w := newWorld(t)
		w.add(func(c *awsv1.EC2NodeClass) { c.Spec.Role, c.Spec.InstanceProfile = "", &own })
		class, result, err := w.reconcile()
		if err != nil || show(class, awsv1.ConditionTypeValidationSucceeded) != `False InstanceProfileNotFound: Instance profile "mine" not found` || result.RequeueAfter == 0 {
			t.Errorf("%v, %v, %+v", err, result, class.Status.Conditions)
		}
		w.account.AddProfile(awstest.Profile{Name: own})
		w.expect(awsv1.ConditionTypeReady, "True")
	})
	t.Run("a profile of Karpenter's that is not there", func(t *testing.T) {
		t.Attr("covers", "A154")
		w := newWorld(t)
		w.account.Fail("RunInstances", "InvalidParameterValue", "Invalid IAM Instance Profile name", 3) // once for each subnet
		w.add(nil)
		class, result, err := w.reconcile()
		if err != nil || show(class, awsv1.ConditionTypeValidationSucceeded)[:7] != "Unknown" || result.RequeueAfter == 0 {
			t.Errorf("%v, %v, %+v", err, result, class.Status.Conditions)
		}
		w.expect(awsv1.ConditionTypeReady, "True")
	})
	t.Run("another annotation", func(t *testing.T) {
		t.Attr("covers", "A159")
		w := newWorld(t)
		w.add(nil)
		w.expect(awsv1.ConditionTypeReady, "True")
		w.expect(awsv1.ConditionTypeReady, "True")
		if n := len(w.account.Calls("CreateFleet")); n != 1 {
			t.Errorf("tried %d times", n)
		}
		w.change(func(c *awsv1.EC2NodeClass) { c.Annotations = map[string]string{"a": "b"} })
		w.expect(awsv1.ConditionTypeReady, "True")
		if n := len(w.account.Calls("CreateFleet")); n != 2 {
			t.Errorf("tried %d times", n)
		}
	})
	t.Run("without dry runs", func(t *testing.T) {
		t.Attr("covers", "A161")
		w := newWorld(t, func(_ *provider.Options, o *nodeclass.Options) { o.DryRuns = false })
		w.add(nil)
		w.expect(awsv1.ConditionTypeReady, "True")
		if len(w.account.Calls("CreateLaunchTemplate"))+len(w.account.Calls("CreateFleet"))+len(w.account.Calls("RunInstances")) != 0 {
			t.Error("something was tried")
		}
	})
	t.Run("without accelerators first", func(t *testing.T) {
		t.Attr("covers", "A157")
		w := newWorld(t)
		w.add(nil)
		w.expect(awsv1.ConditionTypeReady, "True")
		if got := w.account.Calls("RunInstances")[0].Parameters["InstanceType"]; got != "m5.large" {
			t.Errorf("tried with %s", got)
		}
	})
}

// TestTheTypeThatIsTried has pools of the class.
func TestTheTypeThatIsTried(t *testing.T) {
	t.Attr("covers", "A156 A157 A158")
	pool := func(name string, reqs ...v1.NodeSelectorRequirementWithMinValues) *v1.NodePool {
		p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
		p.Spec.Template.Spec.Requirements = reqs
		return p
	}
	in := func(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
		return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	for _, test := range []struct {
		name, want, tenancy string
		pools               []*v1.NodePool
	}{
		{"no pool", "m5.large", "default", nil},
		{"a pool that does not fit", "m5.large", "default", []*v1.NodePool{pool("a", in(corev1.LabelInstanceTypeStable, "none"))}},
		{"what a pool takes", "m6g.large", "default", []*v1.NodePool{pool("a", in(corev1.LabelArchStable, "arm64"))}},
		{"accelerators, if there is nothing else", "g4dn.xlarge", "default", []*v1.NodePool{pool("a", in(awsv1.LabelInstanceCategory, "g"))}},
		{"dedicated", "m5.large", "dedicated", []*v1.NodePool{pool("a"), pool("b", in(corev1.LabelArchStable, "amd64"), in(awsv1.LabelInstanceTenancy, "dedicated"))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.add(nil)
			for _, p := range test.pools {
				if err := w.client.Create(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			w.expect(awsv1.ConditionTypeReady, "True")
			if got := w.account.Calls("RunInstances")[0].Parameters["InstanceType"]; test.want != got && test.tenancy != "dedicated" {
				t.Errorf("tried with %s", got)
			}
			if got := w.account.LaunchTemplates()[0].Data["Placement.Tenancy"]; got != test.tenancy {
				t.Errorf("tried on %s hosts", got)
			}
		})
	}
}

// TestWindowsIsTriedWithUsualTypes has a pool whose type EC2 would refuse to start with Windows.
func TestWindowsIsTriedWithUsualTypes(t *testing.T) {
	t.Attr("covers", "A155")
	w := newWorld(t)
	w.account.AddImage(awstest.Image{ID: "ami-windows", Name: "Windows_Server-2022", Architecture: "x86_64", Owner: "amazon", Created: w.clock.Now()})
	w.account.SetParameter("/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34/image_id", "ami-windows")
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	pool.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.metal"}}}
	if err := w.client.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	w.add(func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "windows2022@latest" })
	w.expect(awsv1.ConditionTypeReady, "True")
	if got := w.account.Calls("RunInstances")[0].Parameters["InstanceType"]; got != "m5.large" {
		t.Errorf("tried with %s", got)
	}
	// The same pool decides where the family is one of Linux.
	w.change(func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "al2023@latest" })
	w.account.Forget()
	w.expect(awsv1.ConditionTypeReady, "True")
	if got := w.account.Calls("RunInstances")[0].Parameters["InstanceType"]; got != "m5.metal" {
		t.Errorf("Linux is tried with %s", got)
	}
}

// TestResultsOfDryRunsLastFromProcessToProcess: half an hour, give or take five minutes.
func TestResultsOfDryRunsLastFromProcessToProcess(t *testing.T) {
	t.Attr("covers", "N309")
	shortest := nodeclass.RandomValidationTTL(func(int64) int64 { return 0 })
	longest := nodeclass.RandomValidationTTL(func(n int64) int64 { return n - 1 })
	if shortest != 25*time.Minute || longest != 35*time.Minute {
		t.Errorf("from %s to %s", shortest, longest)
	}
	for _, ttl := range []time.Duration{shortest, longest} {
		w := newWorld(t, func(_ *provider.Options, o *nodeclass.Options) { o.ValidationTTL = ttl })
		w.account.Fail("RunInstances", "UnauthorizedOperation", "no", -1)
		w.add(nil)
		const failed = "False RunInstancesAuthCheckFailed: Controller isn't authorized to call ec2:RunInstances: User is not authorized"
		w.expect(awsv1.ConditionTypeValidationSucceeded, failed)
		w.account.Recover("RunInstances")
		w.clock.Step(ttl - time.Second)
		w.expect(awsv1.ConditionTypeValidationSucceeded, failed)
		w.clock.Step(2 * time.Second)
		w.expect(awsv1.ConditionTypeReady, "True")
	}
}
