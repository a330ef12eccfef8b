package provider_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// learn shows a node of a claim with so much memory.
func (w *world) learn(claim *v1.NodeClaim, memory string) {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: claim.Labels}}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	if err := w.Catalog.LearnMemory(w.t.Context(), claim, node); err != nil {
		w.t.Fatal(err)
	}
}

// memory is how much a type is thought to have.
func (w *world) memory(name string) string {
	w.t.Helper()
	q := w.list()[name].Capacity[corev1.ResourceMemory]
	return q.String()
}

func TestMemoryThatWasSeen(t *testing.T) {
	const estimate = "7577Mi"
	expect := func(w *world, name, want string) {
		w.t.Helper()
		if got := w.memory(name); got != want {
			w.t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
	t.Run("takes the place of the estimate", func(t *testing.T) {
		t.Attr("covers", "A216")
		w := newWorld(t, "m5.large", "m5a.large")
		other := w.memory("m5a.large")
		claim := w.create(w.claim(cloud.In(corev1.LabelInstanceTypeStable, "m5.large")))
		expect(w, "m5.large", estimate)
		w.learn(claim, "7700Mi")
		expect(w, "m5.large", "7700Mi")
		expect(w, "m5a.large", other)
		w.learn(claim, "7650Mi")
		w.learn(claim, "7800Mi")
		expect(w, "m5.large", "7650Mi") // the smallest counts
		w.learn(claim, "0")
		expect(w, "m5.large", "7650Mi")
		w.clock.Step(59 * 24 * time.Hour)
		w.learn(claim, "7650Mi")
		w.clock.Step(59 * 24 * time.Hour)
		expect(w, "m5.large", "7650Mi")
		w.clock.Step(2 * 24 * time.Hour)
		expect(w, "m5.large", estimate)
	})
	t.Run("of another image says nothing", func(t *testing.T) {
		t.Attr("covers", "A216")
		w := newWorld(t, "m5.large")
		claim := w.create(w.claim())
		claim.Status.ImageID = "ami-other"
		w.learn(claim, "7700Mi")
		expect(w, "m5.large", estimate)
	})
	t.Run("counts no longer with other images", func(t *testing.T) {
		t.Attr("covers", "A217")
		w := newWorld(t, "m5.large")
		w.learn(w.create(w.claim()), "7700Mi")
		expect(w, "m5.large", "7700Mi")
		images := w.class.Status.AMIs
		w.class.Status.AMIs = append([]awsv1.AMI{}, images...)
		for i := range w.class.Status.AMIs {
			w.class.Status.AMIs[i].ID += "-new"
		}
		expect(w, "m5.large", estimate)
		w.class.Status.AMIs = images
		expect(w, "m5.large", "7700Mi")
	})
	t.Run("whichever image of the list the node has", func(t *testing.T) {
		t.Attr("covers", "A218")
		w := newWorld(t, "m5.large", "m6g.large", "g4dn.xlarge")
		seen := map[string]bool{}
		for _, name := range []string{"m5.large", "m6g.large", "g4dn.xlarge"} {
			claim := w.create(w.claim(cloud.In(corev1.LabelInstanceTypeStable, name)))
			seen[claim.Status.ImageID] = true
			w.learn(claim, "5000Mi")
			expect(w, name, "5000Mi")
		}
		if len(seen) != 3 {
			t.Errorf("images %v are not of three kinds", seen)
		}
	})
}
