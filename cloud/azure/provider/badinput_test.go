package provider_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// conditionBytes is how much of a message the condition of a NodeClaim shows.
const conditionBytes = 300

// TestLaunchesThatCannotSucceed checks what users read about launches that fail until something is changed, that they leave nothing behind, and
// that the same NodeClaim is launched afterwards.
func TestLaunchesThatCannotSucceed(t *testing.T) {
	forbidden := func(operation string, status int, code string) func(*world) func() {
		return func(w *world) func() {
			w.account.Fail(operation, status, code, "The client 'controller' does not have authorization to perform the action.", -1)
			return func() { w.account.Recover(operation) }
		}
	}
	quota := func(name string) func(*world) func() {
		return func(w *world) func() {
			w.account.Limit(name, 0)
			return func() {
				w.account.Limit(name, 100)
				w.provider.Catalog.UnavailableOfferings.Flush() // users wait for an hour, or restart the controller
			}
		}
	}
	for title, test := range map[string]struct {
		breaks       func(*world) (mends func())
		capacityType string
		reason       string // empty for insufficient capacity
		message      []string
	}{
		"the subnet is full": {
			breaks: func(w *world) func() {
				w.account.Fail("PUT networkInterfaces", http.StatusBadRequest, "SubnetIsFull", "Subnet aks-subnet with address prefix 10.224.0.0/16 does not have enough capacity for 1 IP addresses.", -1)
				return func() { w.account.Recover("PUT networkInterfaces") }
			},
			reason: "CreateInstanceFailed", message: []string{"SubnetIsFull (use a larger subnet in spec.vnetSubnetID", "Subnet aks-subnet"},
		},
		"the subnet is gone": {
			breaks: func(w *world) func() {
				body := w.account.Body(azuretest.SubnetID())
				w.account.Remove(azuretest.SubnetID())
				return func() { w.account.Put(azuretest.SubnetID(), body) }
			},
			reason: "CreateInstanceFailed", message: []string{"InvalidResourceReference (restore the subnet", "Resource /subscriptions/"},
		},
		"no quota of the family": {
			breaks: quota("standardDSv3Family"), reason: "SubscriptionQuotaReached", message: []string{"OperationNotAllowed (request more quota for the family", "standardDSv3Family Cores quota"},
		},
		"no quota of spot": {
			breaks: quota("lowPriorityCores"), capacityType: v1.CapacityTypeSpot, reason: "SubscriptionQuotaReached", message: []string{"OperationNotAllowed (request more spot quota", "LowPriorityCores quota"},
		},
		"no quota of the region": {breaks: quota("cores"), message: []string{"OperationNotAllowed (request more quota for the region)", "Total Regional Cores quota"}},
		"a role is missing": {
			breaks: forbidden("PUT virtualMachines", http.StatusForbidden, "AuthorizationFailed"), reason: "CreateInstanceFailed",
			message: []string{"AuthorizationFailed (assign the role", "The client 'controller'"},
		},
		"the credential is wrong": {
			breaks: forbidden("PUT networkInterfaces", http.StatusUnauthorized, "InvalidAuthenticationToken"), reason: "CreateInstanceFailed",
			message: []string{"InvalidAuthenticationToken (check the credential of the controller)"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			if test.capacityType == "" {
				test.capacityType = v1.CapacityTypeOnDemand
			}
			mends := test.breaks(w)
			claim := w.claim("general-a", in(corev1.LabelInstanceTypeStable, "Standard_D2s_v3"), in(v1.CapacityTypeLabelKey, test.capacityType))
			_, err := w.provider.Create(t.Context(), claim)
			reason, message := "", ""
			if create, ok := cloud.AsCreateError(err); ok {
				reason, message = create.Reason, create.Message
			} else if cloud.IsInsufficientCapacity(err) {
				message = err.Error()
			}
			if message == "" || reason != test.reason {
				t.Fatalf("reason %q, the error is %v", reason, err)
			}
			for _, part := range test.message {
				if at := strings.Index(message, part); at < 0 || at+len(part) > conditionBytes {
					t.Errorf("%q is not at the begin of %q", part, message)
				}
			}
			for _, kind := range []string{vms, nics, "Microsoft.Compute/disks"} {
				if left := w.account.IDs(kind); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			}
			mends()
			if _, err := w.provider.Create(t.Context(), claim); err != nil {
				t.Errorf("after the change: %v", err)
			}
		})
	}
}

// TestNamesThatAzureRefuses checks that a NodeClaim with a longer name than a virtual machine may have is refused with what to do, before anything is
// created.
func TestNamesThatAzureRefuses(t *testing.T) {
	w := newWorld(t)
	w.created(w.claim(strings.Repeat("a", 54) + "-abcde"))
	w.settled()
	w.account.Forget()
	_, err := w.provider.Create(t.Context(), w.claim(strings.Repeat("a", 55)+"-abcde"))
	create, ok := cloud.AsCreateError(err)
	if !ok || create.Reason != "NameTooLong" || !strings.Contains(create.Message, "the NodePool needs a shorter name") || len(w.account.Calls("PUT networkInterfaces")) > 0 {
		t.Errorf("the error is %v", err)
	}
}

// TestClassDeletedUnderItsNodeClaims checks that a class which is being deleted launches nothing more, and that its instances stay known.
func TestClassDeletedUnderItsNodeClaims(t *testing.T) {
	w := newWorld(t)
	launched, err := w.provider.Create(t.Context(), w.claim("general-a"))
	if err != nil {
		t.Fatal(err)
	}
	w.settled()
	class := &v1beta1.AKSNodeClass{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
		t.Fatal(err)
	}
	class.Finalizers = []string{"karpenter.azure.com/termination"}
	if err := w.client.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if _, err := w.provider.Create(t.Context(), w.claim("general-b")); !cloud.IsInsufficientCapacity(err) || !strings.Contains(err.Error(), "terminating") {
		t.Errorf("launched from a class that is deleted: %v", err)
	}
	w.mu.Lock()
	if !slices.ContainsFunc(w.events, func(e observe.Event) bool { return e.Reason == "NodeClassResolutionError" }) {
		t.Errorf("events %v", w.events)
	}
	w.mu.Unlock()
	if w.account.Exists(azuretest.ID(nics, "aks-general-b")) {
		t.Error("a network interface is left")
	}
	list, err := w.provider.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Status.ProviderID != launched.Status.ProviderID {
		t.Errorf("listed %v, %v", list, err)
	}
	if err := w.provider.Delete(t.Context(), launched); err != nil {
		t.Error(err)
	}
	w.settled()
	if left := slices.Concat(w.account.IDs(vms), w.account.IDs(nics)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestWrongCredentialsLoseNothing checks that instances which cannot be read do not seem to be gone.
func TestWrongCredentialsLoseNothing(t *testing.T) {
	w := newWorld(t)
	launched, err := w.provider.Create(t.Context(), w.claim("general-a"))
	if err != nil {
		t.Fatal(err)
	}
	w.settled()
	for _, operation := range []string{"GET virtualMachines", "POST resources", "DELETE virtualMachines"} {
		w.account.Fail(operation, http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.", -1)
	}
	if _, err := w.provider.Get(t.Context(), launched.Status.ProviderID); err == nil || cloud.IsNodeClaimNotFound(err) {
		t.Errorf("Get: %v", err)
	}
	if list, err := w.provider.List(t.Context()); err == nil {
		t.Errorf("List: %v", list)
	}
	if err := w.provider.Delete(t.Context(), launched); err == nil || cloud.IsNodeClaimNotFound(err) {
		t.Errorf("Delete: %v", err)
	}
	if !w.account.Exists(azuretest.ID(vms, "aks-general-a")) {
		t.Error("the virtual machine is gone")
	}
}
