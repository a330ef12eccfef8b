package provider_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeclass"
	"github.com/karpenter-anew/karpenter/cloud/azure/settings"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// sameImages are those that classes have already.
type sameImages struct{}

// Of implements nodeclass.Images.
func (sameImages) Of(_ context.Context, class *v1beta1.AKSNodeClass) ([]v1beta1.NodeImage, error) {
	return class.Status.Images, nil
}

// reconciled reconciles the class as its controller does, and returns when it does so again and what the class says of its subnet.
func (w *world) reconciled() (again time.Duration, subnets metav1.Condition) {
	w.t.Helper()
	status := nodeclass.NewStatus(nodeclass.Options{
		Client: w.client, Reader: w.client, Recorder: observe.NewRecorder(record.NewFakeRecorder(10), w.clock), Clock: w.clock, Images: sameImages{},
		Version:     func(context.Context) (string, error) { return "v1.33.4", nil },
		Resources:   &discovery.Resources{Subnets: w.session.Subnets},
		FullSubnets: w.assembly.FullSubnets, NodeResourceGroup: azuretest.NodeResourceGroup, Subnet: azuretest.SubnetID(), NetworkPlugin: "azure",
	})
	result, err := status.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "default"}})
	if err != nil {
		w.t.Fatal(err)
	}
	class := &v1beta1.AKSNodeClass{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
		w.t.Fatal(err)
	}
	at := slices.IndexFunc(class.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1beta1.ConditionTypeSubnetsReady })
	return result.RequeueAfter, class.Status.Conditions[at]
}

// TestFullSubnets fills a subnet: its class says so with what to do, nothing is launched meanwhile, and launches go on once an address is free or
// the time for the next one has come. Nothing of the launches that failed is left.
func TestFullSubnets(t *testing.T) {
	for _, mode := range []settings.ProvisionMode{settings.ModeScriptless, settings.ModeAKSMachine} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorldIn(t, mode, unchanged)
			w.account.Put(azuretest.SubnetID(), map[string]any{"properties": map[string]any{"addressPrefix": "10.224.0.0/29"}}) // 3 addresses for nodes
			var launched []*v1.NodeClaim
			for n := range 3 {
				launched = append(launched, w.created(w.claim(fmt.Sprintf("general-%d", n))))
				w.settled()
			}
			if _, subnets := w.reconciled(); subnets.Status != metav1.ConditionTrue {
				t.Fatalf("before a launch has failed: %+v", subnets)
			}
			late := w.claim("general-late")
			w.fillsSubnet(late)
			again, subnets := w.reconciled()
			if subnets.Status != metav1.ConditionFalse || subnets.Reason != "SubnetFull" || !strings.Contains(subnets.Message, "larger subnet") || again != time.Minute {
				t.Fatalf("again after %s, %+v", again, subnets)
			}
			if changed := <-w.assembly.FullSubnets.Changed; changed.Object.GetName() != "default" {
				t.Errorf("to be reconciled: %s", changed.Object.GetName())
			}
			requests := len(w.account.Calls("PUT networkInterfaces")) + len(w.account.Calls("PUT AKSMachines"))
			if _, err := w.provider.Create(t.Context(), w.claim("general-meanwhile")); !cloud.IsNodeClassNotReady(err) {
				t.Errorf("launched meanwhile: %v", err)
			}
			if now := len(w.account.Calls("PUT networkInterfaces")) + len(w.account.Calls("PUT AKSMachines")); now != requests {
				t.Errorf("%d requests meanwhile", now-requests)
			}
			if err := w.provider.Delete(t.Context(), launched[0]); err != nil {
				t.Fatal(err)
			}
			w.settled()
			if again, subnets := w.reconciled(); subnets.Status != metav1.ConditionTrue {
				t.Fatalf("with a free address, again after %s: %+v", again, subnets)
			}
			w.created(w.claim("general-next"))
			w.settled()

			w.fillsSubnet(w.claim("general-last"))
			if _, subnets := w.reconciled(); subnets.Status != metav1.ConditionFalse {
				t.Fatalf("full again: %+v", subnets)
			}
			w.clock.Step(5 * time.Minute)
			if _, subnets := w.reconciled(); subnets.Status != metav1.ConditionTrue {
				t.Fatalf("when the next launch is due: %+v", subnets)
			}
			want := 3
			if got := len(w.account.IDs(vms)); got != want {
				t.Errorf("%d virtual machines, want %d", got, want)
			}
			if got := len(w.account.IDs(nics)); !mode.CreatesAKSMachines() && got != want {
				t.Errorf("%d network interfaces, want %d", got, want)
			}
		})
	}
}

// fillsSubnet launches a NodeClaim for which the subnet has no address: with AKSMachines, Azure says so later.
func (w *world) fillsSubnet(claim *v1.NodeClaim) {
	w.t.Helper()
	out, err := w.provider.Create(w.t.Context(), claim)
	if w.mode.CreatesAKSMachines() && err == nil {
		out.ResourceVersion = claim.ResourceVersion
		condition.For(out, w.clock.Now()).True(v1.ConditionTypeLaunched) // the end of the NodeClaim waits for that
		if err := w.client.Status().Update(w.t.Context(), out); err != nil {
			w.t.Fatal(err)
		}
		w.settled()
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.ContainsFunc(w.events, func(e observe.Event) bool {
			return e.Reason == "AsyncProvisioningError" && strings.Contains(e.Message, "InsufficientSubnetSize")
		}) {
			w.t.Errorf("events %v", w.events)
		}
		return
	}
	if create, ok := cloud.AsCreateError(err); !ok || !strings.Contains(create.Message, "SubnetIsFull (use a larger subnet") {
		w.t.Fatalf("the error is %v", err)
	}
}
