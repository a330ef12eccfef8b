package provider_test

import (
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

func TestDrift(t *testing.T) {
	fresh := func(t *testing.T) (*world, *v1.NodeClaim) {
		w := newWorld(t, "m5.large")
		return w, w.create(w.claim())
	}
	drifted := func(w *world, claim *v1.NodeClaim, want cloud.DriftReason) {
		w.t.Helper()
		if got, err := w.IsDrifted(w.t.Context(), claim); err != nil || got != want {
			w.t.Errorf("drifted: %q, %v, want %q", got, err, want)
		}
	}
	t.Run("without pool or class", func(t *testing.T) {
		t.Attr("covers", "A192")
		w, claim := fresh(t)
		orphan := claim.DeepCopy()
		delete(orphan.Labels, v1.NodePoolLabelKey)
		drifted(w, orphan, "")
		if err := w.Client.Delete(t.Context(), w.class); err != nil {
			t.Fatal(err)
		}
		drifted(w, claim, "")
		if err := w.Client.Delete(t.Context(), w.pool); err != nil {
			t.Fatal(err)
		}
		drifted(w, claim, "")
	})
	t.Run("the first reason counts", func(t *testing.T) {
		t.Attr("covers", "A201")
		w, claim := fresh(t)
		drifted(w, claim, "")
		w.class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-x", Zone: "us-east-1a"}}
		w.saveStatus()
		drifted(w, claim, "SubnetDrift")
		w.class.Status.SecurityGroups = w.class.Status.SecurityGroups[:1]
		w.saveStatus()
		drifted(w, claim, "SecurityGroupDrift")
		for i := range w.class.Status.AMIs {
			w.class.Status.AMIs[i].ID = "ami-new"
		}
		w.saveStatus()
		drifted(w, claim, "AMIDrift")
		w.class.Annotations = map[string]string{awsv1.AnnotationHash: "1", awsv1.AnnotationHashVersion: awsv1.HashVersion}
		status := w.class.Status
		if err := w.Client.Update(t.Context(), w.class); err != nil {
			t.Fatal(err)
		}
		w.class.Status = status
		drifted(w, claim, "NodeClassDrift")
	})
	t.Run("without type or image", func(t *testing.T) {
		t.Attr("covers", "A199")
		w, claim := fresh(t)
		for name, change := range map[string]func(*v1.NodeClaim){
			"type": func(c *v1.NodeClaim) { delete(c.Labels, corev1.LabelInstanceTypeStable) }, "image": func(c *v1.NodeClaim) { c.Status.ImageID = "" },
			"instance": func(c *v1.NodeClaim) { c.Status.ProviderID = "" },
		} {
			broken := claim.DeepCopy()
			change(broken)
			if got, err := w.IsDrifted(t.Context(), broken); err == nil {
				t.Errorf("without %s: %q", name, got)
			}
		}
	})
	t.Run("an instance that is gone", func(t *testing.T) {
		t.Attr("covers", "A200")
		w, claim := fresh(t)
		w.account.Vanish(w.account.Instances()[0].ID)
		if got, err := w.IsDrifted(t.Context(), claim); err == nil {
			t.Errorf("got %q", got)
		}
	})
}

func TestTheListForgetsWhatHasGone(t *testing.T) {
	t.Attr("covers", "A329")
	w := newWorld(t, "m5.large")
	first, second := w.create(w.claim()), w.create(w.claim())
	w.account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1a"}, map[string]string{awsv1.TagNodePool: "pool", awsv1.TagNodeClass: "default", awsv1.TagClusterName: "another"})
	w.account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1a"}, map[string]string{awsv1.TagClusterName: "test"})
	list := func() string {
		claims, err := w.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range claims {
			out = append(out, c.Status.ProviderID)
		}
		return strings.Join(out, " ")
	}
	if got := list(); got != first.Status.ProviderID+" "+second.Status.ProviderID {
		t.Errorf("listed are %s", got)
	}
	gone := w.account.Instances()[0].ID
	w.account.Vanish(gone)
	if got := list(); got != second.Status.ProviderID {
		t.Errorf("listed are %s", got)
	}
	if _, err := w.Instances.Get(t.Context(), gone); err == nil {
		t.Error("what has gone is still known")
	}
}

func TestNewInstancesThatEC2DoesNotKnowYet(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.account.Hide(2, 0)
	claim := w.claim()
	created := w.create(claim)
	if again := w.create(claim); again.Status.ProviderID != created.Status.ProviderID || len(w.account.Instances()) != 1 {
		t.Errorf("%s and %s", created.Status.ProviderID, again.Status.ProviderID)
	}
}

func TestSubnetsInZonesWithoutOfferings(t *testing.T) {
	w := newWorld(t, "m5.large")
	w.class.Status.Subnets = append(w.class.Status.Subnets, awsv1.Subnet{ID: "subnet-x", Zone: "us-east-1-bos-1a"})
	w.saveStatus()
	types, err := w.InstanceTypes(t.Context(), w.pool)
	if err != nil || len(types) == 0 {
		t.Errorf("%d types, %v", len(types), err)
	}
}

func TestTypesFromManySides(t *testing.T) {
	t.Attr("covers", "A219 A247")
	w := newWorld(t, "m5.large", "c5.large")
	first, err := w.InstanceTypes(t.Context(), w.pool)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			again, err := w.InstanceTypes(t.Context(), w.pool)
			if err != nil || len(again) != len(first) || again[0] != first[0] {
				t.Errorf("%d types, %v", len(again), err)
			}
			again[0] = nil // the list is the caller's
		})
	}
	all.Wait()
	w.resolve(func(c *awsv1.EC2NodeClass) { c.Spec.Kubelet = kubeletBlock(t, `{"maxPods": 7}`) })
	other, err := w.InstanceTypes(t.Context(), w.pool)
	if err != nil || other[0].Capacity.Pods().Value() != 7 || first[0].Capacity.Pods().Value() == 7 {
		t.Errorf("%v, %v", other[0].Capacity.Pods(), err)
	}
}

func TestAllTypesAreSound(t *testing.T) {
	w := newWorld(t)
	types, err := w.InstanceTypes(t.Context(), w.pool)
	if err != nil || len(types) < 800 {
		t.Fatalf("%d types, %v", len(types), err)
	}
	for _, it := range types {
		for name, q := range it.Allocatable() {
			if q.Sign() < 0 {
				t.Errorf("%s: allocatable %s is %s", it.Name, name, q.String())
			}
		}
	}
}
