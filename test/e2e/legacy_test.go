package e2e

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// defineLegacy installs the CRDs of earlier APIs, which only their test needs. They remain for the next test.
func (w *harness) defineLegacy() {
	w.t.Helper()
	definitions, err := crds.Legacy()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range definitions {
		if err := w.client.Create(w.ctx, d); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
	w.await("earlier APIs are served", patience, func() string {
		if err := w.client.List(w.ctx, &v1alpha5.ProvisionerList{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestProvisioner: a Provisioner of an earlier API launches nodes for pods, and removes them 30 seconds after the last pod. Its NodePool is
// restored when it is changed, and deleted with it.
func TestProvisioner(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.defineLegacy()
	w.controller("--feature-gates=LegacyProvisioner=true")
	ttl := int64(30)
	old := &v1alpha5.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	old.Spec.TTLSecondsAfterEmpty = &ttl
	t.Cleanup(func() {
		if err := w.client.Delete(context.WithoutCancel(w.ctx), old); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	inflate := deployment("inflate", 3, "1")
	w.create(old, inflate)
	w.awaitRunning(3)
	w.await("the Provisioner is active", patience, func() string {
		if !w.get(old) {
			return "it is not there"
		}
		if s := condition.Status(old, v1alpha5.ConditionTypeActive); s != metav1.ConditionTrue {
			return string(s)
		}
		return ""
	})

	w.scale(inflate, 0)
	w.awaitRunning(0)
	emptied := time.Now()
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	weight := int32(5)
	if !w.get(p) {
		t.Fatal("there is no NodePool")
	}
	change(w, p, func(p *v1.NodePool) { p.Spec.Weight = &weight })
	w.await("the change by hand is put back", patience, func() string {
		if !w.get(p) || p.Spec.Weight != nil {
			return "the weight is still there"
		}
		return ""
	})
	w.awaitNothing(90 * time.Second)
	if left := time.Since(emptied); left < time.Duration(ttl)*time.Second {
		t.Errorf("the nodes were gone after %s, before ttlSecondsAfterEmpty", left)
	}

	w.delete(old)
	w.await("the NodePool goes with the Provisioner", patience, func() string {
		if w.get(p) {
			return "it is still there"
		}
		return ""
	})
}
