package provider_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/launcher"
	"github.com/karpenter-anew/karpenter/cloud/azure/request"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
)

// changeClass changes the class and its status.
func (w *world) changeClass(change func(*v1beta1.AKSNodeClass)) {
	w.t.Helper()
	class := &v1beta1.AKSNodeClass{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
		w.t.Fatal(err)
	}
	change(class)
	status := class.Status
	if err := w.client.Update(w.t.Context(), class); err != nil {
		w.t.Fatal(err)
	}
	class.Status = status
	if err := w.client.Status().Update(w.t.Context(), class); err != nil {
		w.t.Fatal(err)
	}
}

// refusing is a cluster whose node classes cannot be read.
type refusing struct{ client.Client }

// Get implements client.Reader.
func (r refusing) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	if _, ok := into.(*v1beta1.AKSNodeClass); ok {
		return errors.New("the API server is away")
	}
	return r.Client.Get(ctx, key, into, o...)
}

// TestClassesThatCannotBeLaunchedFrom checks what a NodeClaim hears of its class.
func TestClassesThatCannotBeLaunchedFrom(t *testing.T) {
	t.Attr("covers", "Z188 Z189 Z190")
	capacity := func(err error) bool { return cloud.IsInsufficientCapacity(err) }
	plain := func(err error) bool {
		_, typed := cloud.AsCreateError(err)
		return !typed && !cloud.IsInsufficientCapacity(err) && !cloud.IsNodeClassNotReady(err)
	}
	set := func(conditionType string, status metav1.ConditionStatus) func(*world) {
		return func(w *world) {
			w.changeClass(func(c *v1beta1.AKSNodeClass) {
				at := condition.For(c, w.clock.Now())
				if status == metav1.ConditionFalse {
					at.False(conditionType, "Broken", "broken")
					return
				}
				at.Unknown(conditionType, "Waiting", "waiting")
			})
		}
	}
	for name, test := range map[string]struct {
		change func(*world)
		want   func(error) bool
		event  bool
	}{
		"missing": {func(w *world) { w.delete(&v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}) }, capacity, true},
		"being deleted": {func(w *world) {
			w.changeClass(func(c *v1beta1.AKSNodeClass) { c.Finalizers = []string{"karpenter.azure.com/termination"} })
			w.delete(&v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		}, capacity, true},
		"unreadable": {func(w *world) { w.provider.Catalog.Client = refusing{w.client} }, capacity, false},
		"not ready":  {set(v1beta1.ConditionTypeSubnetsReady, metav1.ConditionFalse), cloud.IsNodeClassNotReady, false},
		"not decided": {set(v1beta1.ConditionTypeSubnetsReady, metav1.ConditionUnknown), func(err error) bool {
			failed, ok := cloud.AsCreateError(err)
			return ok && failed.Reason == "NodeClassReadinessUnknown"
		}, false},
		"edited since the status": {func(w *world) { w.changeClass(func(c *v1beta1.AKSNodeClass) { c.Generation = 2 }) }, plain, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			if _, err := w.provider.Create(t.Context(), w.claim("general-a")); err == nil || !test.want(err) {
				t.Errorf("the error is %v", err)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if published := len(w.events) == 1 && w.events[0].Reason == "NodeClassResolutionError"; published != test.event || len(w.events) > 1 {
				t.Errorf("events %v", w.events)
			}
			if w.count("PUT networkInterfaces") > 0 {
				t.Error("something was launched")
			}
		})
	}
}

// TestReasonsOfFailures checks the reason and the message of a launch that Azure refuses, on both paths.
func TestReasonsOfFailures(t *testing.T) {
	t.Attr("covers", "Z095 Z096 Z210 Z251")
	long := strings.Repeat("x", 1500)
	for _, test := range []struct {
		mode          settings.ProvisionMode
		code, message string
		want          string
		marks         bool
	}{
		{settings.ModeScriptless, "SkuNotAvailable", long, "SKUNotAvailable", true},
		{settings.ModeScriptless, "OverconstrainedAllocationRequest", "", "OverconstrainedAllocationFailure", true},
		{settings.ModeScriptless, "NetworkingInternalOperationError", long, "CreateInstanceFailed", false},
		{settings.ModeScriptless, "NoRegisteredProviderFound", "No registered resource provider found", "CreateInstanceFailed", false},
		{settings.ModeAKSMachine, "VMSizeNotSupported", "The size is not supported", "SKUNotAvailable", true},
		{settings.ModeAKSMachine, "BadRequest", "The VM size of Agent is not supported for subscription S", "SKUNotAvailable", true},
		{settings.ModeAKSMachine, "BadRequest", "something else", "CreateInstanceFailed", false},
		{settings.ModeAKSMachine, "InvalidApiVersionParameter", "The api-version '2026-04-02-preview' is invalid", "CreateInstanceFailed", false},
	} {
		w := newWorldIn(t, test.mode, unchanged)
		before := w.provider.Catalog.UnavailableOfferings.Sequence()
		w.account.Fail("PUT virtualMachines", http.StatusBadRequest, test.code, test.message, -1)
		w.account.Fail(putMachine, http.StatusBadRequest, test.code, test.message, -1)
		_, err := w.provider.Create(t.Context(), w.claim("general-a"))
		failed, ok := cloud.AsCreateError(err)
		if !ok || failed.Reason != test.want || cloud.IsInsufficientCapacity(err) {
			t.Errorf("%s: the error is %v with reason %+v", test.code, err, failed)
			continue
		}
		if cut := len(test.message) > 1200; len(failed.Message) > 1203 || strings.HasSuffix(failed.Message, "...") != cut || !strings.Contains(failed.Message, test.code) {
			t.Errorf("%s: the message has %d bytes: %s", test.code, len(failed.Message), failed.Message)
		}
		if marked := w.provider.Catalog.UnavailableOfferings.Sequence() != before; marked != test.marks {
			t.Errorf("%s: something is marked: %t", test.code, marked)
		}
	}
}

// TestLaunchesAreCounted counts launches that are accepted, refused, and fail later, with the labels of their offering.
func TestLaunchesAreCounted(t *testing.T) {
	t.Attr("covers", "Z111")
	w := newWorld(t)
	w.account.Refuse(azuretest.Pool{Size: "Standard_F4s_v2"}, azuretest.Refusal{Code: "SkuNotAvailable", Message: "not available"})
	w.account.RunOut(azuretest.Pool{Size: "Standard_D2s_v3"})
	zone := in(corev1.LabelTopologyZone, "eastus-2")
	w.created(w.claim("runs", in(corev1.LabelInstanceTypeStable, "Standard_E4s_v5"), zone, in(v1.CapacityTypeLabelKey, "on-demand")))
	if _, err := w.provider.Create(t.Context(), w.claim("refused", in(corev1.LabelInstanceTypeStable, "Standard_F4s_v2"), zone, in(v1.CapacityTypeLabelKey, "spot"))); err == nil {
		t.Error("no error")
	}
	late := w.claim("late", in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"), zone, in(v1.CapacityTypeLabelKey, "spot"))
	late.Status = w.created(late).Status
	condition.For(late, w.clock.Now()).True(v1.ConditionTypeLaunched)
	if err := w.client.Status().Update(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	w.settled()
	const image = `image="/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2204gen2containerd/versions/202604.1.0",nodepool="general"`
	want := `
# HELP karpenter_instance_vm_create_failure_total Virtual machines that Azure did not create: refused at once, or failed later.
# TYPE karpenter_instance_vm_create_failure_total counter
karpenter_instance_vm_create_failure_total{capacity_type="spot",error_code="SkuNotAvailable",` + image + `,phase="sync",size="Standard_F4s_v2",zone="eastus-2"} 1
karpenter_instance_vm_create_failure_total{capacity_type="spot",error_code="ZonalAllocationFailed",` + image + `,phase="async",size="Standard_D2s_v3",zone="eastus-2"} 1
# HELP karpenter_instance_vm_create_start_total Virtual machines that Azure was asked for.
# TYPE karpenter_instance_vm_create_start_total counter
karpenter_instance_vm_create_start_total{capacity_type="on-demand",` + image + `,size="Standard_E4s_v5",zone="eastus-2"} 1
karpenter_instance_vm_create_start_total{capacity_type="spot",` + image + `,size="Standard_D2s_v3",zone="eastus-2"} 1
karpenter_instance_vm_create_start_total{capacity_type="spot",` + image + `,size="Standard_F4s_v2",zone="eastus-2"} 1
`
	if err := testutil.GatherAndCompare(w.metrics, strings.NewReader(want), "karpenter_instance_vm_create_start_total", "karpenter_instance_vm_create_failure_total"); err != nil {
		t.Error(err)
	}
}

// together is a path on which launches wait for each other.
type together struct {
	launcher.Path
	arrived *sync.WaitGroup
}

// Create implements launcher.Path.
func (p together) Create(ctx context.Context, l request.Launch) (launcher.Accepted, error) {
	p.arrived.Done()
	p.arrived.Wait()
	return p.Path.Create(ctx, l)
}

// TestNodeClaimsThatFailTogether launches NodeClaims at once that all fail with the same error.
func TestNodeClaimsThatFailTogether(t *testing.T) {
	t.Attr("covers", "Z094 Z209")
	const n = 8
	w := newWorld(t)
	arrived := &sync.WaitGroup{}
	arrived.Add(n)
	w.provider.Launcher.Path = together{w.provider.Launcher.Path, arrived}
	w.account.Refuse(azuretest.Pool{}, azuretest.Refusal{Code: "SkuNotAvailable", Message: "The requested size is not available"})
	before := w.provider.Catalog.UnavailableOfferings.Sequence()
	var all sync.WaitGroup
	for i := range n {
		claim := w.claim("general-"+string(rune('a'+i)), in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"), in(corev1.LabelTopologyZone, "eastus-1"), in(v1.CapacityTypeLabelKey, "spot"))
		all.Go(func() {
			_, err := w.provider.Create(t.Context(), claim)
			if failed, ok := cloud.AsCreateError(err); !ok || failed.Reason != "SKUNotAvailable" || !strings.Contains(err.Error(), claim.Name) {
				t.Errorf("%s: the error is %v", claim.Name, err)
			}
		})
	}
	all.Wait()
	if after := w.provider.Catalog.UnavailableOfferings.Sequence(); after != before+1 {
		t.Errorf("the sequence number went from %d to %d", before, after)
	}
}

// TestARestartForgetsWhatIsUnavailable checks that the first launch of a process repeats an error once.
func TestARestartForgetsWhatIsUnavailable(t *testing.T) {
	t.Attr("covers", "Z208")
	w := newWorld(t)
	w.account.Refuse(azuretest.Pool{Size: "Standard_D2s_v3"}, azuretest.Refusal{Code: "SkuNotAvailable", Message: "not available"})
	only := []v1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"), in(v1.CapacityTypeLabelKey, "spot"), in(corev1.LabelTopologyZone, "eastus-1"),
	}
	for i, process := range []string{"first", "second"} {
		if i > 0 {
			w.end()
			w.restart()
		}
		if _, err := w.provider.Create(t.Context(), w.claim(process+"-a", only...)); err == nil || cloud.IsInsufficientCapacity(err) || w.count("PUT virtualMachines") != i+1 {
			t.Errorf("%s process: %d requests, %v", process, w.count("PUT virtualMachines"), err)
		}
		if _, err := w.provider.Create(t.Context(), w.claim(process+"-b", only...)); !cloud.IsInsufficientCapacity(err) || w.count("PUT virtualMachines") != i+1 {
			t.Errorf("%s process, once more: %d requests, %v", process, w.count("PUT virtualMachines"), err)
		}
	}
}
