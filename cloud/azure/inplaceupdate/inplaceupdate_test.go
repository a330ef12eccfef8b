package inplaceupdate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/inplaceupdate"
	"github.com/karpenter-anew/karpenter/cloud/azure/instance"
	"github.com/karpenter-anew/karpenter/cloud/azure/naming"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

const (
	typeVM   = "Microsoft.Compute/virtualMachines"
	typeNIC  = "Microsoft.Network/networkInterfaces"
	identity = "/subscriptions/1/resourceGroups/mc/providers/Microsoft.ManagedIdentity/userAssignedIdentities/kubelet"
)

// world is a controller with an account, and an API server in memory with the class default.
type world struct {
	*inplaceupdate.Controller
	t       *testing.T
	account *azuretest.Account
	client  client.Client
	clock   *clocktesting.FakeClock
	// beforePatch is called before an object is written; nil for nothing.
	beforePatch func() error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.account = azuretest.New(azuretest.Options{Clock: w.clock})
	w.client = apiserver.New().WithStatusSubresource(&v1.NodeClaim{}, &v1beta1.AKSNodeClass{}).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if w.beforePatch != nil {
				if err := w.beforePatch(); err != nil {
					return err
				}
			}
			return c.Patch(ctx, o, patch, options...)
		},
	}).Build()
	connection := azuretest.Connect(t, w.account)
	compute, err := armcompute.NewClientFactory(azuretest.Subscription, connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := armnetwork.NewInterfacesClient(azuretest.Subscription, connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	w.Controller = inplaceupdate.New(inplaceupdate.Options{
		Client: w.client, Clock: w.clock, Cluster: "cluster", Tags: map[string]string{"team": "settings", "cost/center": "7"}, Identities: []string{identity},
		VMs: inplaceupdate.VMs{Instances: instance.NewClient(instance.Options{
			VirtualMachines: compute.NewVirtualMachinesClient(), Extensions: compute.NewVirtualMachineExtensionsClient(), NetworkInterfaces: interfaces,
			Subscription: azuretest.Subscription, ResourceGroup: azuretest.NodeResourceGroup, Clock: w.clock,
		})},
		Manages: func(ref *v1.NodeClassReference) bool { return ref != nil && ref.Group == v1beta1.Group },
	})
	w.create(&v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	return w
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// add adds a virtual machine without tags, and its NodeClaim.
func (w *world) add(name string, change func(*v1.NodeClaim)) {
	w.t.Helper()
	w.account.Put(w.vm(name), map[string]any{"location": "eastus", "tags": map[string]any{"karpenter.azure.com_cluster": "cluster"}, "properties": map[string]any{"provisioningState": "Succeeded"}})
	w.account.Put(azuretest.ID(typeNIC, "aks-"+name), map[string]any{"location": "eastus"})
	id, err := naming.ParseVMID(w.vm(name))
	if err != nil {
		w.t.Fatal(err)
	}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.NodePoolLabelKey: "general"}}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
	claim.Status.ProviderID = id.ProviderID()
	claim.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeRegistered, Status: metav1.ConditionTrue}}
	if change != nil {
		change(claim)
	}
	w.create(claim)
}

func (w *world) vm(name string) string { return azuretest.ID(typeVM, "aks-"+name) }

// tag sets the tags of the class.
func (w *world) tag(tags map[string]string) {
	w.t.Helper()
	class := &v1beta1.AKSNodeClass{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
		w.t.Fatal(err)
	}
	class.Spec.Tags = tags
	if err := w.client.Update(w.t.Context(), class); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) run(name string) (reconcile.Result, error) {
	return w.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
}

// mustRun reconciles a NodeClaim, which must be done then.
func (w *world) mustRun(name string) {
	w.t.Helper()
	if result, err := w.run(name); err != nil || result.RequeueAfter != 0 {
		w.t.Fatalf("Reconcile() = %+v, %v", result, err)
	}
}

func (w *world) claim(name string) *v1.NodeClaim {
	w.t.Helper()
	claim := &v1.NodeClaim{}
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Name: name}, claim); err != nil {
		w.t.Fatal(err)
	}
	return claim
}

func (w *world) hash(name string) string {
	return w.claim(name).Annotations[label.AnnotationInPlaceUpdateHash]
}

// tags are those that the virtual machine has.
func (w *world) tags(name string) map[string]string {
	out := map[string]string{}
	all, _ := w.account.Body(w.vm(name))["tags"].(map[string]any)
	for key, value := range all {
		out[key] = fmt.Sprint(value)
	}
	return out
}

// updates is how many virtual machines were updated.
func (w *world) updates() int { return len(w.account.Calls("PATCH virtualMachines")) }

// always are the tags that every instance has in these tests.
func always(more ...string) map[string]string {
	out := map[string]string{
		"team": "settings", "cost_center": "7", "karpenter.azure.com_cluster": "cluster", "karpenter.sh_nodepool": "general", "compute.aks.billing": "linux",
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func TestInstancesFollowTheirClass(t *testing.T) {
	t.Attr("covers", "Z139 Z141 Z142 Z174")
	w := newWorld(t)
	w.add("a", nil)
	for i, test := range []struct{ class, want map[string]string }{
		{nil, always()},
		{map[string]string{"team": "class", "karpenter.azure.com/cluster": "evil"}, always("team", "class")},
		{map[string]string{"team": "class", "more": "1"}, always("team", "class", "more", "1")},
		{map[string]string{"more": "2"}, always("more", "2")},
		{nil, always()},
	} {
		w.tag(test.class)
		w.clock.Step(time.Minute)
		w.account.Forget()
		w.mustRun("a")
		if diff := cmp.Diff(test.want, w.tags("a")); diff != "" || w.updates() != 1 {
			t.Errorf("step %d: %d updates, tags (-want +got):\n%s", i, w.updates(), diff)
		}
		if want := (resourcetags.InPlace{Tags: test.want, Identities: []string{identity}}).Hash(); w.hash("a") != want {
			t.Errorf("step %d: hash %q, want %q", i, w.hash("a"), want)
		}
		w.account.Forget()
		w.mustRun("a")
		if calls := w.account.Calls(""); len(calls) != 0 {
			t.Errorf("step %d: %d calls although the hash matches", i, len(calls))
		}
	}
}

func TestTheHashIsRecordedIfNothingDiffers(t *testing.T) {
	t.Attr("covers", "Z139 Z142")
	w := newWorld(t)
	w.add("a", nil)
	w.mustRun("a")
	hash := w.hash("a")
	claim := w.claim("a")
	claim.Annotations = map[string]string{"other": "kept"}
	if err := w.client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.account.Forget()
	w.mustRun("a")
	if w.hash("a") != hash || w.claim("a").Annotations["other"] != "kept" || w.updates() != 0 {
		t.Errorf("annotations %v after %d updates", w.claim("a").Annotations, w.updates())
	}
}

func TestUnregisteredNodeClaimsWait(t *testing.T) {
	t.Attr("covers", "Z143")
	for name, change := range map[string]func(*v1.NodeClaim){
		"not registered":  func(c *v1.NodeClaim) { c.Status.Conditions[0].Status = metav1.ConditionFalse },
		"no condition":    func(c *v1.NodeClaim) { c.Status.Conditions = nil },
		"no provider id":  func(c *v1.NodeClaim) { c.Status.ProviderID = "" },
		"nothing of both": func(c *v1.NodeClaim) { c.Status = v1.NodeClaimStatus{} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var ready v1.NodeClaimStatus
			w.add("a", func(c *v1.NodeClaim) { ready = *c.Status.DeepCopy(); change(c) })
			if result, err := w.run("a"); err != nil || result.RequeueAfter != time.Minute || len(w.account.Calls("")) != 0 {
				t.Fatalf("Reconcile() = %+v, %v after %d calls", result, err, len(w.account.Calls("")))
			}
			claim := w.claim("a")
			claim.Status = ready
			if err := w.client.Status().Update(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			w.mustRun("a")
			if w.updates() != 1 || w.hash("a") == "" {
				t.Errorf("%d updates, hash %q", w.updates(), w.hash("a"))
			}
		})
	}
}

func TestWhatIsPassedOver(t *testing.T) {
	w := newWorld(t)
	w.add("deleted", func(c *v1.NodeClaim) { c.Finalizers = []string{v1.TerminationFinalizer} })
	if err := w.client.Delete(t.Context(), w.claim("deleted")); err != nil {
		t.Fatal(err)
	}
	w.add("foreign", func(c *v1.NodeClaim) { c.Spec.NodeClassRef.Group = "karpenter.kwok.sh" })
	w.add("classless", func(c *v1.NodeClaim) { c.Spec.NodeClassRef = nil })
	for _, name := range []string{"deleted", "foreign", "classless", "none"} {
		w.mustRun(name)
	}
	if calls := w.account.Calls(""); len(calls) != 0 {
		t.Errorf("%d calls", len(calls))
	}
}

func TestErrorsAreRetriedAndNotRecorded(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1.NodeClaim)
		fail   func(*world)
		want   string
	}{
		"no class":           {change: func(c *v1.NodeClaim) { c.Spec.NodeClassRef.Name = "none" }, want: "none"},
		"no virtual machine": {fail: func(w *world) { w.account.Remove(w.vm("a")) }, want: "ResourceNotFound"},
		"bad provider id":    {change: func(c *v1.NodeClaim) { c.Status.ProviderID = "kwok://a" }, want: "kwok://a"},
		"conflict": {
			fail: func(w *world) { w.account.Fail("PATCH virtualMachines", http.StatusConflict, "Conflict", "busy", 1) }, want: "Conflict",
		},
		"no updater": {change: func(c *v1.NodeClaim) {
			c.Annotations = map[string]string{label.AnnotationAKSMachineResourceID: "/machine"}
		}, want: "AKSMachine"},
		"annotation": {fail: func(w *world) { w.beforePatch = func() error { return errors.New("refused") } }, want: "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("a", test.change)
			if test.fail != nil {
				test.fail(w)
			}
			if _, err := w.run("a"); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `nodeclaim "a"`) {
				t.Errorf("Reconcile() = %v", err)
			}
			if w.hash("a") != "" {
				t.Errorf("recorded %q", w.hash("a"))
			}
		})
	}
}

func TestANodeClaimThatGoesDuringTheUpdateIsNoError(t *testing.T) {
	w := newWorld(t)
	w.add("a", nil)
	w.beforePatch = func() error { return w.client.Delete(t.Context(), w.claim("a")) }
	w.mustRun("a")
	if w.updates() != 1 {
		t.Errorf("%d updates", w.updates())
	}
}

// recorder records what AKSMachines are to have.
type recorder struct{ wanted []resourcetags.InPlace }

// Update implements inplaceupdate.Updater.
func (m *recorder) Update(_ context.Context, _ *v1.NodeClaim, wanted resourcetags.InPlace) error {
	m.wanted = append(m.wanted, wanted)
	return nil
}

func TestAKSMachinesHaveTheirOwnTagsAndHash(t *testing.T) {
	t.Attr("covers", "Z145")
	w := newWorld(t)
	updated := &recorder{}
	w.AKSMachines = updated
	w.add("vm", nil)
	w.add("aksmachine", func(c *v1.NodeClaim) {
		c.Annotations = map[string]string{label.AnnotationAKSMachineResourceID: "/machine"}
	})
	w.mustRun("vm")
	w.mustRun("aksmachine")
	want := []resourcetags.InPlace{{Tags: always("karpenter.azure.com_aksmachine_nodeclaim", "aksmachine")}}
	if diff := cmp.Diff(want, updated.wanted); diff != "" || w.updates() != 1 {
		t.Errorf("%d virtual machines updated, AKSMachines (-want +got):\n%s", w.updates(), diff)
	}
	if w.hash("aksmachine") != want[0].Hash() || w.hash("aksmachine") == w.hash("vm") {
		t.Errorf("hashes %q and %q", w.hash("aksmachine"), w.hash("vm"))
	}
}

// drain reconciles NodeClaims when they are due, in steps of a second, and returns how many were updated by then after each second.
func (w *world) drain(names []string, seconds int) []int {
	w.t.Helper()
	due := map[string]time.Time{}
	for _, name := range names {
		due[name] = w.clock.Now()
	}
	var done []int
	for range seconds {
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, name := range names {
			mu.Lock()
			at, waits := due[name]
			mu.Unlock()
			if !waits || at.After(w.clock.Now()) {
				continue
			}
			all.Go(func() {
				result, err := w.run(name)
				if err != nil {
					w.t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if due[name] = w.clock.Now().Add(result.RequeueAfter); result.RequeueAfter == 0 {
					delete(due, name)
				}
			})
		}
		all.Wait()
		done = append(done, len(names)-len(due))
		w.clock.Step(time.Second)
	}
	return done
}

func (w *world) addMany(n int) []string {
	w.t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("claim-%02d", i))
		w.add(names[i], nil)
	}
	return names
}

func TestUpdatesTakeTurns(t *testing.T) {
	w := newWorld(t)
	names := w.addMany(30)
	var want []int
	for i := range 25 {
		want = append(want, min(10+i, 30))
	}
	if diff := cmp.Diff(want, w.drain(names, 25)); diff != "" {
		t.Errorf("updated after each second (-want +got):\n%s", diff)
	}
}

// TestTurnsThatAreNotNeededAreCancelled checks that a NodeClaim whose update is no longer due does not keep its turn: it would later update at a
// time that Azure's budget has for others.
func TestTurnsThatAreNotNeededAreCancelled(t *testing.T) {
	class := map[string]string{"team": "class"}
	for name, test := range map[string]struct{ ends, again func(*world) }{
		"its hash matches": {func(w *world) { w.tag(nil) }, func(w *world) { w.tag(class) }},
		"it is gone":       {func(w *world) { w.remove("late") }, func(w *world) { w.add("late", nil) }},
		"it is being deleted": {
			func(w *world) { w.finalize("late", "example.com/kept"); w.remove("late") },
			func(w *world) { w.finalize("late"); w.add("late", nil) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("late", nil)
			w.mustRun("late")
			for _, other := range w.addMany(9) {
				w.mustRun(other)
			}
			w.tag(class)
			if result, err := w.run("late"); err != nil || result.RequeueAfter != time.Second {
				t.Fatalf("Reconcile() = %+v, %v, want a turn after a second", result, err)
			}
			test.ends(w)
			w.mustRun("late")
			w.clock.Step(time.Second) // the turn would be now
			test.again(w)
			w.account.Forget()
			if result, err := w.run("late"); err != nil || result.RequeueAfter != time.Second || w.updates() != 0 {
				t.Errorf("Reconcile() = %+v, %v after %d updates, want another turn", result, err, w.updates())
			}
			w.clock.Step(time.Second)
			w.mustRun("late")
		})
	}
}

// remove deletes a NodeClaim.
func (w *world) remove(name string) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.claim(name)); err != nil {
		w.t.Fatal(err)
	}
}

// finalize sets the finalizers of a NodeClaim.
func (w *world) finalize(name string, finalizers ...string) {
	w.t.Helper()
	claim := w.claim(name)
	claim.Finalizers = finalizers
	if err := w.client.Update(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
}

func TestThrottlingPausesAllUpdates(t *testing.T) {
	for name, test := range map[string]struct {
		asked time.Duration
		pause int
	}{
		"Azure asks for 50 s":   {50 * time.Second, 50},
		"Azure asks for 1 s":    {time.Second, 30},
		"Azure asks for hours":  {5 * time.Hour, 900},
		"Azure does not say it": {0, 30},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			names := w.addMany(12)
			w.account.Throttle("GET virtualMachines", test.asked, 1)
			if result, err := w.run(names[0]); err != nil || result.RequeueAfter != time.Duration(test.pause)*time.Second || w.hash(names[0]) != "" {
				t.Fatalf("Reconcile() = %+v, %v", result, err)
			}
			w.account.Forget()
			w.clock.Step(time.Duration(test.pause-1) * time.Second)
			done := w.drain(names, 14)
			// The saved turns are gone: one a second after the pause. The first second belongs to the NodeClaim that was throttled.
			want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12}
			if diff := cmp.Diff(want, done); diff != "" {
				t.Errorf("updated after each second (-want +got):\n%s", diff)
			}
		})
	}
}
