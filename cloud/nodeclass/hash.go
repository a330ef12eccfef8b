package nodeclass

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Hasher keeps the hash of node classes in their annotations. When the rules of the hash have changed, it first writes the new hash onto
// the claims of the class, so that none of them drifts for it.
type Hasher[C Class] struct {
	Kind[C]
	Client client.Client
	Hash   func(C) string
	// HashAnnotation and VersionAnnotation are the keys of annotations, Version names the rules of the hash.
	HashAnnotation, VersionAnnotation, Version string
}

// Reconcile brings the annotations of one class up to date.
func (h *Hasher[C]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	class := h.New()
	if err := h.Client.Get(ctx, req.NamespacedName, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !class.GetDeletionTimestamp().IsZero() {
		return reconcile.Result{}, nil
	}
	hash := h.Hash(class)
	if version, ok := class.GetAnnotations()[h.VersionAnnotation]; ok && version != h.Version {
		if err := h.migrate(ctx, class, hash); err != nil {
			return settle(err)
		}
	}
	if err := h.annotate(ctx, class, map[string]string{h.HashAnnotation: hash, h.VersionAnnotation: h.Version}); err != nil {
		return settle(err)
	}
	return reconcile.Result{}, nil
}

// migrate writes hash and version onto the claims of the class. Those that have drifted keep their hash: they have to go anyway.
func (h *Hasher[C]) migrate(ctx context.Context, class C, hash string) error {
	claims, err := h.Claims(ctx, h.Client, class)
	if err != nil {
		return err
	}
	for i := range claims {
		claim := &claims[i]
		if claim.Annotations[h.VersionAnnotation] == h.Version {
			continue
		}
		wanted := map[string]string{h.VersionAnnotation: h.Version}
		if condition.Status(claim, v1.ConditionTypeDrifted) != metav1.ConditionTrue {
			wanted[h.HashAnnotation] = hash
		}
		if err := h.annotate(ctx, claim, wanted); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("writing the hash of %s onto nodeclaim %q: %w", h.text(class), claim.Name, err)
		}
	}
	return nil
}

func (h *Hasher[C]) annotate(ctx context.Context, o client.Object, wanted map[string]string) error {
	before := o.DeepCopyObject().(client.Object)
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, wanted)
	if maps.Equal(annotations, o.GetAnnotations()) {
		return nil
	}
	o.SetAnnotations(annotations)
	return h.Client.Patch(ctx, o, locked(before))
}
