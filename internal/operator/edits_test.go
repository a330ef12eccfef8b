package operator

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/operator/internal/edits"
	"github.com/karpenter-anew/karpenter/internal/view"
)

const storedManifests = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  disruption: {consolidateAfter: Never}
`

// cached has the objects of a small cluster in the caches of a process: a NodePool, its node class, and a node with a pod of half a core.
func cached(t *testing.T) (*liveState, *edits.Edits, func() []client.Object) {
	t.Helper()
	place, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	place = place.WithDefaults()
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	all, kinds := fakeInformers{}, []client.Object{&v1.NodePool{}, &v1alpha1.KWOKNodeClass{}, &v1.NodeClaim{}, &corev1.Node{}, &corev1.Pod{}}
	l := &liveState{
		informers: all, kinds: kinds, named: namedKinds(place, kinds), clock: clocktesting.NewFakePassiveClock(now),
		ready: func() bool { return true }, leading: func() bool { return true },
	}
	l.state.Cloud, l.state.Unknown = place, []string{"what only the memory of the controller has"}
	e, err := edits.New(kwok.Provider(), place, l)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := kwok.Provider().Definitions()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := manifest.NewReader(definitions, kwok.Provider().AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := reader.Read("cluster", strings.NewReader(storedManifests)) // with the defaults of the API server
	if err != nil {
		t.Fatal(err)
	}
	class, pool := stored.Objects[0].(*v1alpha1.KWOKNodeClass), stored.Objects[1].(*v1.NodePool) //nolint:forcetypeassert // as the text has them
	class.UID, pool.UID = "class", "web"
	condition.For(class, now).True(v1alpha1.ConditionTypeReady)
	condition.For(pool, now).True(v1.ConditionTypeReady)
	hashes := map[string]string{v1.NodePoolHashAnnotationKey: pool.Hash(), v1.NodePoolHashVersionAnnotationKey: v1.NodePoolHashVersion}
	pool.Annotations = hashes
	labels := map[string]string{
		v1.NodePoolLabelKey: "web", corev1.LabelInstanceTypeStable: "c-1x-amd64-linux", corev1.LabelTopologyZone: "test-zone-a", v1.CapacityTypeLabelKey: "on-demand",
		v1.NodeRegisteredLabelKey: "true", v1.NodeInitializedLabelKey: "true", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelHostname: "a",
		v1alpha1.Group + "/kwoknodeclass": "default",
	}
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("900m"), corev1.ResourceMemory: resource.MustParse("2Gi"), corev1.ResourcePods: resource.MustParse("16")}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", Labels: labels, Annotations: hashes, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	claim.Spec.NodeClassRef = pool.Spec.Template.Spec.NodeClassRef
	claim.Status.NodeName, claim.Status.ProviderID, claim.Status.Capacity, claim.Status.Allocatable = "a", "kwok://a", amounts, amounts
	for _, is := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized, v1.ConditionTypeConsolidatable} {
		condition.For(claim, now.Add(-time.Hour)).True(is)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "node-a", Labels: labels, CreationTimestamp: claim.CreationTimestamp}}
	node.Spec.ProviderID, node.Status.Capacity, node.Status.Allocatable = "kwok://a", amounts, amounts
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart-1", UID: "cart-1", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "cart", Controller: new(true)}}}}
	pod.Spec.NodeName, pod.Status.Phase = "a", corev1.PodRunning
	pod.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}}

	for _, o := range []client.Object{pool, class, claim, node, pod} {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as in caches
		o.SetResourceVersion("7")
		o.SetGeneration(2)
		o.SetFinalizers([]string{"karpenter.sh/termination"})
		all.of(o).add(t, o)
	}
	return l, e, func() (out []client.Object) {
		for _, kind := range kinds {
			for _, o := range all.of(kind).store.List() {
				out = append(out, o.(client.Object)) //nolint:forcetypeassert // the stores hold nothing else
			}
		}
		return out
	}
}

func TestEditsAreComparedWithTheCaches(t *testing.T) {
	l, e, inCaches := cached(t)
	before, err := json.Marshal(inCaches())
	if err != nil {
		t.Fatal(err)
	}
	views := view.New(l, ledger.Records(nil), clocktesting.NewFakeClock(l.clock.Now())).CompareEdits(e.Compare)
	unedited, err := views.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := views.Edit(t.Context(), unedited)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range d.Edited {
		if o.Change != "unchanged" {
			t.Errorf("%s %q as it is shown is %s", o.Kind, o.Name, o.Change)
		}
	}
	edited := strings.Replace(string(unedited), "  template:\n    spec:", "  template:\n    metadata:\n      labels:\n        team: shop\n    spec:", 1)
	if d, err = views.Edit(t.Context(), []byte(edited)); err != nil {
		t.Fatal(err)
	}
	if d.Without.Drifted != 0 || d.With.Drifted != 1 || d.With.Moved != 1 {
		t.Errorf("the edit drifts %d nodes and moves %d pods, want 1 and 1 (%d drift without it): %+v", d.With.Drifted, d.With.Moved, d.Without.Drifted, d.With)
	}
	if text := strings.Join(d.Notes, "\n"); !strings.Contains(text, "what only the memory of the controller has") {
		t.Errorf("the notes do not say what is not known: %q", text)
	}
	after, err := json.Marshal(inCaches())
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Errorf("the caches of the controller have changed from\n%s\nto\n%s", before, after)
	}
}

func TestEditsThatAreNotCompared(t *testing.T) {
	l, e, _ := cached(t)
	state, err := l.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":    {"{", "edit"},
		"no objects": {"", "hold no objects"},
		"a workload": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cart, namespace: shop}\nspec:\n  selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}\n",
			`Deployment "cart": the controller compares edits of KWOKNodeClass, NodePool; run karpenter diff`,
		},
		"an invalid pool": {"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: web}\nspec: {weight: 1000}\n", "weight"},
	} {
		if _, err := e.Compare(t.Context(), state, []byte(c.text)); !errors.Is(err, view.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
