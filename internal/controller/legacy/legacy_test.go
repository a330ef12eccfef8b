package legacy_test

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/legacy"
	"github.com/karpenter-anew/karpenter/internal/convert"
)

// provisioner is the Provisioner "default", whose nodes are removed after they have been empty for 30 seconds.
func provisioner() *v1alpha5.Provisioner {
	thirty := int64(30)
	return &v1alpha5.Provisioner{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "provisioner-uid"},
		Spec:       v1alpha5.ProvisionerSpec{TTLSecondsAfterEmpty: &thirty, Labels: map[string]string{"team": "a"}},
	}
}

func pool() *v1.NodePool { return &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}} }

func ownClass() *kwok.KWOKNodeClass {
	return &kwok.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
}

// harness is a fakecluster.Cluster with the controller.
type harness struct {
	*fakecluster.Cluster
	controller *legacy.Controller
}

// newHarness has the simulated cloud provider.
func newHarness(t *testing.T, objects ...client.Object) *harness {
	t.Helper()
	return begin(t, fakecluster.New(t, objects...))
}

// newAWSHarness has EC2 instances.
func newAWSHarness(t *testing.T, objects ...client.Object) *harness {
	t.Helper()
	w := fakecluster.New(t, objects...)
	w.Cloud.NodeClasses = []cloud.NodeClass{{
		GVK: awsv1.SchemeGroupVersion.WithKind("EC2NodeClass"),
		New: func() cloud.NodeClassObject { return &awsv1.EC2NodeClass{} },
	}}
	return begin(t, w)
}

func begin(t *testing.T, w *fakecluster.Cluster) *harness {
	t.Helper()
	c, err := legacy.New(w.Shared)
	if err != nil {
		t.Fatal(err)
	}
	return &harness{w, c}
}

// run reconciles once; errors are failures.
func (w *harness) run() reconcile.Result {
	w.Helper()
	result, err := w.controller.Reconcile(w.Context(), reconcile.Request{})
	if err != nil {
		w.Fatal(err)
	}
	return result
}

func (w *harness) active(old *v1alpha5.Provisioner) string {
	w.Helper()
	return fakecluster.Condition(fakecluster.Must(w.Cluster, old).Status.Conditions, v1alpha5.ConditionTypeActive)
}

func TestANodePoolIsKeptForAProvisioner(t *testing.T) {
	w := newHarness(t, provisioner())
	w.run()
	kept, class := fakecluster.Must(w.Cluster, pool()), fakecluster.Must(w.Cluster, ownClass())
	if ref := kept.Spec.Template.Spec.NodeClassRef; ref.Kind != "KWOKNodeClass" || ref.Name != "default" || ref.Group != kwok.Group {
		t.Errorf("the pool refers to %+v", ref)
	}
	d := kept.Spec.Disruption
	if d.ConsolidationPolicy != v1.ConsolidationPolicyWhenEmpty || *d.ConsolidateAfter.Duration != 30*time.Second {
		t.Errorf("disruption %+v", d)
	}
	wanted := []v1.Budget{
		{Nodes: "100%", Reasons: []v1.DisruptionReason{v1.DisruptionReasonEmpty}},
		{Nodes: "10%", Reasons: []v1.DisruptionReason{v1.DisruptionReasonDrifted, v1.DisruptionReasonUnderutilized}},
	}
	if !reflect.DeepEqual(d.Budgets, wanted) {
		t.Errorf("budgets %+v", d.Budgets)
	}
	if kept.Spec.Template.Spec.ExpireAfter.Duration != nil || kept.Spec.Template.Labels["team"] != "a" {
		t.Errorf("template %+v", kept.Spec.Template)
	}
	for _, o := range []client.Object{kept, class} {
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.UID != "provisioner-uid" || owner.Kind != "Provisioner" || owner.APIVersion != "karpenter.sh/v1alpha5" {
			t.Errorf("%T is owned by %+v", o, owner)
		}
		if o.GetLabels()[convert.KeptForLabelKey] != "provisioner" {
			t.Errorf("%T is not marked: %v", o, o.GetLabels())
		}
	}
	if notes := kept.Annotations[convert.NotesAnnotationKey]; !strings.Contains(notes, "spec.ttlSecondsAfterEmpty: ") {
		t.Errorf("notes %q", notes)
	}
	if got := w.active(provisioner()); got != "True/Active/" {
		t.Errorf("Active is %s", got)
	}
}

func TestNothingIsWrittenWithoutNeed(t *testing.T) {
	w := newHarness(t, provisioner())
	w.run()
	w.Fail = func(op string, _ runtime.Object) error {
		if op != "get" && op != "list" {
			return errors.New(op)
		}
		return nil
	}
	w.run()
}

func TestChangesByHandArePutBack(t *testing.T) {
	w := newHarness(t, provisioner())
	w.run()
	fakecluster.Change(w.Cluster, pool(), func(p *v1.NodePool) {
		weight := int32(3)
		p.Spec.Weight = &weight
		p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(time.Hour)
		p.Labels = map[string]string{"mine": "stays"}
		p.Annotations[v1.NodePoolHashAnnotationKey] = "1"
	})
	w.run()
	got := fakecluster.Must(w.Cluster, pool())
	if got.Spec.Weight != nil || *got.Spec.Disruption.ConsolidateAfter.Duration != 30*time.Second {
		t.Errorf("spec %+v", got.Spec)
	}
	if got.Labels["mine"] != "stays" || got.Labels[convert.KeptForLabelKey] == "" || got.Annotations[v1.NodePoolHashAnnotationKey] != "1" {
		t.Errorf("labels %v, annotations %v", got.Labels, got.Annotations)
	}
	w.Delete(got)
	w.run()
	fakecluster.Must(w.Cluster, pool())
}

func TestAChangeOfTheProvisionerIsFollowed(t *testing.T) {
	w := newHarness(t, provisioner())
	w.run()
	fakecluster.Change(w.Cluster, provisioner(), func(p *v1alpha5.Provisioner) {
		weight := int32(7)
		p.Spec.Weight = &weight
	})
	w.run()
	if got := fakecluster.Must(w.Cluster, pool()); got.Spec.Weight == nil || *got.Spec.Weight != 7 {
		t.Errorf("weight %v", got.Spec.Weight)
	}
}

func TestAForeignNodePoolIsLeftAlone(t *testing.T) {
	foreign := fakecluster.Pool()
	foreign.Name = "default"
	other := provisioner()
	other.Name, other.UID = "other", "other-uid"
	w := newHarness(t, provisioner(), other, foreign)
	before := fakecluster.Must(w.Cluster, foreign)
	if result := w.run(); result.RequeueAfter != time.Minute {
		t.Errorf("result %+v", result)
	}
	if after := fakecluster.Must(w.Cluster, foreign); after.ResourceVersion != before.ResourceVersion {
		t.Error("the pool was changed")
	}
	if got := w.active(provisioner()); !strings.HasPrefix(got, "False/Refused/NodePool default exists already") {
		t.Errorf("Active is %s", got)
	}
	if events := strings.Join(w.Events(), "\n"); !strings.Contains(events, "LegacyRefused") {
		t.Errorf("events %s", events)
	}
	if got := w.active(other); got != "True/Active/" {
		t.Errorf("Active of the other is %s", got)
	}
	w.Delete(foreign)
	w.run()
	if got := w.active(provisioner()); got != "True/Active/" {
		t.Errorf("Active is %s once the other pool is gone", got)
	}
}

func TestWhatCannotBeConvertedIsRefused(t *testing.T) {
	w := newHarness(t, provisioner())
	w.run()
	fakecluster.Change(w.Cluster, provisioner(), func(p *v1alpha5.Provisioner) {
		yes := true
		p.Spec.Consolidation = &v1alpha5.Consolidation{Enabled: &yes}
	})
	w.run()
	if got := w.active(provisioner()); !strings.Contains(got, "spec.ttlSecondsAfterEmpty: excludes consolidation.enabled: true") {
		t.Errorf("Active is %s", got)
	}
	if got := fakecluster.Must(w.Cluster, pool()); *got.Spec.Disruption.ConsolidateAfter.Duration != 30*time.Second {
		t.Error("the last pool that could be made is not there any more")
	}
}

// TestAStraySpaceIsToldWithItsField checks that a place in the object that is served, which no user has as a text, is a field.
func TestAStraySpaceIsToldWithItsField(t *testing.T) {
	old := provisioner()
	old.Spec.Requirements = []corev1.NodeSelectorRequirement{
		{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}},
		{Key: "karpenter.sh/capacity-type", Operator: "In", Values: []string{"spot", "on-demand "}},
	}
	w := newHarness(t, old)
	w.run()
	want := `spec.requirements[1].values[1]: "on-demand " ends with a space; probably meant: "on-demand"`
	if got := w.active(old); !strings.HasSuffix(got, want) || strings.Contains(got, "column") {
		t.Errorf("the Provisioner says %q, want %s", got, want)
	}
}

func TestAProvisionerOfAnotherCloudIsRefused(t *testing.T) {
	p := provisioner()
	p.Spec.ProviderRef = &v1alpha5.ProviderRef{Name: "aws"}
	w := newHarness(t, p)
	w.run()
	if got := w.active(p); !strings.Contains(got, "needs a NodeClass of kind EC2NodeClass") {
		t.Errorf("Active is %s", got)
	}
	if _, there := fakecluster.Get(w.Cluster, pool()); there {
		t.Error("a pool was made")
	}
}

func TestADeletedProvisionerIsLeftToTheGarbageCollector(t *testing.T) {
	p := provisioner()
	p.Finalizers = []string{"foregroundDeletion"}
	w := newHarness(t, p)
	w.run()
	w.Delete(fakecluster.Must(w.Cluster, p))
	w.Delete(fakecluster.Must(w.Cluster, pool()))
	w.run()
	if _, there := fakecluster.Get(w.Cluster, pool()); there {
		t.Error("the pool was made again for a Provisioner that is going")
	}
}

const awsSettings = `{"instanceProfile": "p", "subnetSelector": {"a": "b"}, "securityGroupSelector": {"aws-ids": "sg-1"}}`

func template() *v1alpha1.AWSNodeTemplate {
	return &v1alpha1.AWSNodeTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "aws", UID: "template-uid"}, Spec: &runtime.RawExtension{Raw: []byte(awsSettings)},
	}
}

func class(name string) *awsv1.EC2NodeClass {
	return &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestAnEC2NodeClassIsKeptForATemplate(t *testing.T) {
	p := provisioner()
	p.Spec.ProviderRef = &v1alpha5.ProviderRef{Name: "aws"}
	w := newAWSHarness(t, p, template())
	w.run()
	kept := fakecluster.Must(w.Cluster, class("aws"))
	if owner := metav1.GetControllerOf(kept); owner == nil || owner.UID != "template-uid" {
		t.Errorf("owned by %+v", owner)
	}
	if *kept.Spec.InstanceProfile != "p" || kept.Spec.SecurityGroupSelectorTerms[0].ID != "sg-1" {
		t.Errorf("spec %+v", kept.Spec)
	}
	if ref := fakecluster.Must(w.Cluster, pool()).Spec.Template.Spec.NodeClassRef; ref.Name != "aws" {
		t.Errorf("the pool refers to %+v", ref)
	}

	// Settings of the kubelet need a dedicated class, which is deleted with them.
	fakecluster.Change(w.Cluster, p, func(p *v1alpha5.Provisioner) {
		p.Spec.KubeletConfiguration = &runtime.RawExtension{Raw: []byte(`{"maxPods": 20}`)}
	})
	w.run()
	own := fakecluster.Must(w.Cluster, class("aws-default"))
	if string(own.Spec.Kubelet["maxPods"].Raw) != "20" || metav1.GetControllerOf(own).UID != "provisioner-uid" {
		t.Errorf("the pool's own class %+v", own)
	}
	if ref := fakecluster.Must(w.Cluster, pool()).Spec.Template.Spec.NodeClassRef; ref.Name != "aws-default" {
		t.Errorf("the pool refers to %+v", ref)
	}
	fakecluster.Change(w.Cluster, p, func(p *v1alpha5.Provisioner) { p.Spec.KubeletConfiguration = nil })
	w.run()
	if _, there := fakecluster.Get(w.Cluster, class("aws-default")); there {
		t.Error("the class that is not needed still exists")
	}
	fakecluster.Must(w.Cluster, class("aws"))
}

func TestIncompleteTemplatesAreRefused(t *testing.T) {
	bad := template()
	bad.Spec.Raw = []byte(`{"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}}`)
	w := newAWSHarness(t, bad)
	w.run()
	got := fakecluster.Condition(fakecluster.Must(w.Cluster, bad).Status.Conditions, v1alpha1.ConditionTypeActive)
	if !strings.HasPrefix(got, "False/Refused/spec.instanceProfile: missing") || strings.Contains(got, "--") {
		t.Errorf("Active is %s", got)
	}
}

func TestWritesThatComeTooLateAreTriedAgain(t *testing.T) {
	for name, fail := range map[string]func(string, runtime.Object) error{
		"of the pool":   fakecluster.Always("create", &v1.NodePool{}, fakecluster.Conflict()),
		"of the status": fakecluster.Always("patch-status", &v1alpha5.Provisioner{}, fakecluster.Conflict()),
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, provisioner())
			w.Fail = fail
			if result := w.run(); !result.Requeue { //nolint:staticcheck // what the limiter paces
				t.Errorf("result %+v", result)
			}
			w.Fail = nil
			w.run()
			if got := w.active(provisioner()); got != "True/Active/" {
				t.Errorf("Active is %s", got)
			}
		})
	}
}

func TestOtherErrorsAreReturned(t *testing.T) {
	w := newHarness(t, provisioner())
	w.Fail = fakecluster.Always("create", &kwok.KWOKNodeClass{}, errors.New("the server is on fire"))
	if _, err := w.controller.Reconcile(t.Context(), reconcile.Request{}); err == nil || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("error %v", err)
	}
}

// TestTheClusterNameFindsSubnetsAndSecurityGroups checks that templates without selectors select by the tag of the cluster, as convert does.
func TestTheClusterNameFindsSubnetsAndSecurityGroups(t *testing.T) {
	bad := template()
	bad.Spec.Raw = []byte(`{"instanceProfile": "nodes"}`)
	w := newAWSHarness(t, bad)
	w.run()
	if got := fakecluster.Condition(fakecluster.Must(w.Cluster, bad).Status.Conditions, v1alpha1.ConditionTypeActive); !strings.Contains(got, "Selector: missing") {
		t.Errorf("without a name of the cluster, Active is %s", got)
	}
	w.Cloud.ClusterName = "one"
	w = begin(t, w.Cluster)
	w.run()
	got := fakecluster.Must(w.Cluster, class(bad.Name)).Spec
	want := map[string]string{"kubernetes.io/cluster/one": "*"}
	if len(got.SubnetSelectorTerms) != 1 || !maps.Equal(got.SubnetSelectorTerms[0].Tags, want) ||
		len(got.SecurityGroupSelectorTerms) != 1 || !maps.Equal(got.SecurityGroupSelectorTerms[0].Tags, want) {
		t.Errorf("the class selects %+v and %+v", got.SubnetSelectorTerms, got.SecurityGroupSelectorTerms)
	}
}
