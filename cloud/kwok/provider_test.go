package kwok

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

func TestRepairPolicies(t *testing.T) {
	t.Attr("covers", "N075")
	var got []string
	for _, p := range newWorld(t, Options{}).cloud.RepairPolicies {
		got = append(got, fmt.Sprintf("%s=%s %q %s %s %s %d", p.ConditionType, p.ConditionStatus, p.ReasonRegex, p.TolerationDuration, p.TerminationGracePeriod, p.Action, p.Priority))
	}
	want := []string{
		`Ready=False "" 10m0s 0s ReplaceNode 0`, `Ready=Unknown ".*" 10m0s 0s ReplaceNode 0`,
		`KWOKUnhealthy=True ".*" 30s 45s ReplaceNode 0`, `KWOKRebootRequired=True ".*" 30s 1m0s RebootNode 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("repair policies (-want +got):\n%s", diff)
	}
}

func resourceOf(s string) resource.Quantity { return resource.MustParse(s) }

func TestCloudDescription(t *testing.T) {
	c := newWorld(t, Options{}).cloud
	if c.Name != "kwok" || c.Register == nil {
		t.Errorf("name is %q, registers controllers: %t", c.Name, c.Register != nil)
	}
	if got := c.NodeClasses[0].LabelKey(); got != "karpenter.kwok.sh/kwoknodeclass" {
		t.Errorf("label of the node class is %q", got)
	}
	for key, restricted := range map[string]bool{
		"karpenter.kwok.sh/instance-size": false, "karpenter.kwok.sh/instance-family": false,
		"karpenter.kwok.sh/instance-cpu": false, "karpenter.kwok.sh/instance-memory": false,
		"karpenter.kwok.sh/other": true, "karpenter.kwok.sh/kwoknodeclass": true, "karpenter.sh/other": true,
	} {
		if got := c.Labels.Restricted(key); got != restricted {
			t.Errorf("%s is restricted: %t", key, got)
		}
	}
}

func TestCreateHydratesTheClaim(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.claim(cloud.In(corev1.LabelInstanceTypeStable, "s-4x-amd64-linux"), cloud.In(corev1.LabelTopologyZone, "test-zone-b"),
		cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand), cloud.In("example.com/team", "blue"))
	claim.Annotations = map[string]string{"example.com/note": "kept"}
	got, err := w.cloud.Provider.Create(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	wantLabels := map[string]string{
		v1.NodePoolLabelKey: "pool", "karpenter.kwok.sh/kwoknodeclass": className,
		corev1.LabelInstanceTypeStable: "s-4x-amd64-linux", corev1.LabelTopologyZone: "test-zone-b",
		v1.CapacityTypeLabelKey: "on-demand", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		LabelInstanceFamily: "s", LabelInstanceSize: "4", LabelInstanceCPU: "4", LabelInstanceMemory: "16384",
		"example.com/team": "blue", "eks-node-viewer/instance-price": "0.117180",
	}
	if diff := cmp.Diff(wantLabels, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	wantAnnotations := map[string]string{"example.com/note": "kept", "kwok.x-k8s.io/node": "fake"}
	if diff := cmp.Diff(wantAnnotations, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	wantCapacity := map[string]string{"cpu": "4", "memory": "16Gi", "pods": "64", "ephemeral-storage": "20Gi"}
	if diff := cmp.Diff(wantCapacity, amounts(got.Status.Capacity)); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	wantAllocatable := map[string]string{"cpu": "3900m", "memory": "16374Mi", "pods": "64", "ephemeral-storage": "20Gi"}
	if diff := cmp.Diff(wantAllocatable, amounts(got.Status.Allocatable)); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
	if want := "kwok://" + nodeName(claim); got.Status.ProviderID != want {
		t.Errorf("provider id is %q, want %q", got.Status.ProviderID, want)
	}
}

// A crash between the two writes of a launch leaves labels without a status. The next attempt respects them.
func TestCreateKeepsToLabelsOnRecord(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.claim()
	onRecord := map[string]string{
		corev1.LabelInstanceTypeStable: "m-8x-arm64-linux", corev1.LabelTopologyZone: "test-zone-c", v1.CapacityTypeLabelKey: "on-demand",
	}
	w.update(claim, func() { maps.Copy(claim.Labels, onRecord) })
	got, err := w.cloud.Provider.Create(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range onRecord {
		if got.Labels[key] != want {
			t.Errorf("label %s is %q, was %q", key, got.Labels[key], want)
		}
	}
	if cpu := amounts(got.Status.Capacity)["cpu"]; cpu != "8" || got.Labels[LabelInstanceCPU] != "8" {
		t.Errorf("instance has %s CPUs, labelled %s", cpu, got.Labels[LabelInstanceCPU])
	}
	if got.Spec.Requirements != nil {
		t.Errorf("requirements became %v", got.Spec.Requirements)
	}
	claim.Labels[corev1.LabelInstanceTypeStable] = "no-longer-offered"
	if _, err := w.cloud.Provider.Create(t.Context(), claim); !cloud.IsInsufficientCapacity(err) {
		t.Errorf("a type that is no longer offered: %v", err)
	}
}

func TestCreateErrors(t *testing.T) {
	setReady := func(status metav1.ConditionStatus) func(*world, *v1.NodeClaim) {
		return func(w *world, _ *v1.NodeClaim) {
			class := &v1alpha1.KWOKNodeClass{}
			if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: className}, class); err != nil {
				w.t.Fatal(err)
			}
			w.update(class, func() {
				class.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, Reason: "Because"}}
			})
		}
	}
	tests := []struct {
		name   string
		before func(*world, *v1.NodeClaim)
		check  func(error) bool
		says   string
	}{
		{"class missing", func(_ *world, c *v1.NodeClaim) { c.Spec.NodeClassRef.Name = "none" }, cloud.IsInsufficientCapacity, `"none" not found`},
		{"no class", func(_ *world, c *v1.NodeClaim) { c.Spec.NodeClassRef = nil }, cloud.IsInsufficientCapacity, "names no node class"},
		{"class not ready", setReady(metav1.ConditionFalse), cloud.IsNodeClassNotReady, `"default"`},
		{"class without a verdict", setReady(metav1.ConditionUnknown), func(err error) bool { return err == nil }, ""},
		{
			"nothing large enough",
			func(_ *world, c *v1.NodeClaim) {
				c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resourceOf("300")}
			},
			cloud.IsInsufficientCapacity, "1152 are smaller than its requests",
		},
		{"no uid", func(_ *world, c *v1.NodeClaim) { c.UID = "" }, func(err error) bool { return cloud.ErrorLabel(err) == "" && err != nil }, "no UID"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, Options{})
			claim := w.claim()
			tt.before(w, claim)
			_, err := w.cloud.Provider.Create(t.Context(), claim)
			if !tt.check(err) || (err != nil && !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A failing API server is not a missing node class: the claim must not be deleted.
func TestCreateDoesNotMistakeOutageForAbsence(t *testing.T) {
	w := newWorld(t, Options{})
	down := errors.New("connection refused")
	broken := w.intercepted(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		},
	})
	c, err := New(broken, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Provider.Create(t.Context(), newClaimWithUID())
	if !errors.Is(err, down) || cloud.ErrorLabel(err) != "" {
		t.Errorf("got %v", err)
	}
	if _, err = c.Provider.Get(t.Context(), "kwok://node"); !errors.Is(err, down) || cloud.IsNodeClaimNotFound(err) {
		t.Errorf("Get: %v", err)
	}
}

func newClaimWithUID() *v1.NodeClaim {
	claim := newClaim("claim")
	claim.UID = "uid"
	return claim
}

// running launches a claim and lets it join.
func (w *world) running() *v1.NodeClaim {
	w.t.Helper()
	claim := w.launch(w.claim())
	w.join(claim.Name)
	return claim
}

func TestDeleteBeginsWithTheNodeAndLeavesTheClaim(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.running()
	if err := w.cloud.Provider.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if nodes := w.nodes(); len(nodes) != 0 {
		t.Errorf("there still are %d nodes", len(nodes))
	}
	if !w.stored(claim.Name).DeletionTimestamp.IsZero() {
		t.Error("the claim is being deleted")
	}
	if err := w.cloud.Provider.Delete(t.Context(), claim); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("second Delete: %v", err)
	}
}

// TestANodeThatIsBeingDeletedCanBeDrainedAndEnded: node termination holds the Node by its finalizer and waits for the provider, so the
// provider must not wait for the Node when it terminates the instance. Until then Get returns the instance, or termination would not
// drain a node that is not ready.
func TestANodeThatIsBeingDeletedCanBeDrainedAndEnded(t *testing.T) {
	t.Attr("covers", "W021")
	w := newWorld(t, Options{})
	claim := w.running()
	node := w.theNode()
	w.update(node, func() { node.Finalizers = []string{v1.TerminationFinalizer} })
	if err := w.client.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := w.cloud.Provider.Delete(t.Context(), claim); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("Delete: %v", err)
	}
	if got, err := w.cloud.Provider.Get(t.Context(), claim.Status.ProviderID); err != nil || got.DeletionTimestamp.IsZero() {
		t.Errorf("Get: %+v, %v, want one that is ending", got, err)
	}
	listed, err := w.cloud.Provider.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) != 1 || listed[0].DeletionTimestamp.IsZero() {
		t.Errorf("List is %+v, expected one that is ending", listed)
	}
}

func TestDeleteOfALaunchThatHasYetToJoin(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.launch(w.claim())
	if err := w.cloud.Provider.Delete(t.Context(), claim); !cloud.IsNodeClaimNotFound(err) {
		t.Errorf("Delete: %v", err)
	}
}

// TestOrphansAreDeletedByWhatTheListSays: the result of List is sufficient to delete an instance without a claim.
func TestOrphansAreDeletedByWhatTheListSays(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.running()
	w.update(claim, func() { claim.Finalizers = nil })
	if err := w.client.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	listed, err := w.cloud.Provider.List(t.Context())
	if err != nil || len(listed) != 1 {
		t.Fatalf("List is %v, %v", listed, err)
	}
	if listed[0].Name != claim.Name || listed[0].Status.NodeName != w.theNode().Name {
		t.Errorf("the instance is listed as claim %q on node %q", listed[0].Name, listed[0].Status.NodeName)
	}
	if err := w.cloud.Provider.Delete(t.Context(), listed[0]); err != nil {
		t.Fatal(err)
	}
	if nodes := w.nodes(); len(nodes) != 0 {
		t.Errorf("there still are %d nodes", len(nodes))
	}
}

func TestNodesOfOthersAreNotOurs(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.running()
	name := w.theNode().Name
	for _, other := range []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "plain"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}, Spec: corev1.NodeSpec{ProviderID: "aws:///a/i-1"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "impostor", Labels: map[string]string{labelNode: nodeFake}}, Spec: corev1.NodeSpec{ProviderID: claim.Status.ProviderID}},
	} {
		w.create(other)
	}
	listed, err := w.cloud.Provider.List(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Status.NodeName != name {
		t.Errorf("List is %v, %v", listed, err)
	}
	stranger := claim.DeepCopy()
	stranger.Status.ProviderID = "kwok://plain"
	if err := w.cloud.Provider.Delete(t.Context(), stranger); !cloud.IsNodeClaimNotFound(err) || len(w.nodes()) != 4 {
		t.Errorf("Delete of a node with another provider id: %v, %d nodes are left", err, len(w.nodes()))
	}
	if err := w.cloud.Provider.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	for _, left := range w.nodes() {
		if left.Name == name {
			t.Error("the node of the claim is left")
		}
	}
	if n := len(w.nodes()); n != 3 {
		t.Errorf("%d nodes are left, want those of others", n)
	}
}

func TestDeleteReportsWhatTheAPIServerRefuses(t *testing.T) {
	w := newWorld(t, Options{})
	claim := w.running()
	conflict := apierrors.NewConflict(corev1.Resource("nodes"), "n", errors.New("uid"))
	broken := w.intercepted(interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return conflict },
	})
	c, err := New(broken, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Provider.Delete(t.Context(), claim); !errors.Is(err, conflict) || cloud.IsNodeClaimNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkCreate(b *testing.B) {
	cat, err := loadCatalog(Options{Catalog: "aws/us-east-1"})
	if err != nil {
		b.Fatal(err)
	}
	rules := labelRules(cat.offeringKeys)
	offerings := cloud.NewOfferingList(instanceTypes(cat, rules), rules)
	claim := newClaimWithUID()
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelArchStable, "arm64")}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resourceOf("40")}
	for b.Loop() {
		if _, err := choose(offerings, claim); err != nil {
			b.Fatal(err)
		}
	}
}
