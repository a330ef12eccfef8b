package nodeclass

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Hasher keeps the hash of classes in their annotations. When the rules of the hash have changed, it first writes the new hash onto
// the claims of the class, so that none of them drifts for it.
type Hasher struct{ Options }

// Reconcile brings the annotations of one class up to date.
func (h *Hasher) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	class := &awsv1.EC2NodeClass{}
	if err := h.Client.Get(ctx, req.NamespacedName, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !class.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	hash := class.Hash(h.Requests.Cluster.Facts().CABundle)
	if version, ok := class.Annotations[awsv1.AnnotationHashVersion]; ok && version != awsv1.HashVersion {
		if err := h.migrate(ctx, class, hash); err != nil {
			return settle(err)
		}
	}
	return h.annotate(ctx, class, map[string]string{awsv1.AnnotationHash: hash, awsv1.AnnotationHashVersion: awsv1.HashVersion})
}

// migrate writes hash and version onto the claims of the class. Those that have drifted keep their hash: they have to go anyway.
func (h *Hasher) migrate(ctx context.Context, class *awsv1.EC2NodeClass, hash string) error {
	claims, err := (&Controller{Options: h.Options}).claimsOf(ctx, class)
	if err != nil {
		return err
	}
	for i := range claims {
		claim := &claims[i]
		if claim.Annotations[awsv1.AnnotationHashVersion] == awsv1.HashVersion {
			continue
		}
		wanted := map[string]string{awsv1.AnnotationHashVersion: awsv1.HashVersion}
		if condition.Status(claim, v1.ConditionTypeDrifted) != metav1.ConditionTrue {
			wanted[awsv1.AnnotationHash] = hash
		}
		if _, err := h.annotate(ctx, claim, wanted); err != nil {
			return fmt.Errorf("writing the hash of ec2nodeclass %q onto nodeclaim %q: %w", class.Name, claim.Name, err)
		}
	}
	return nil
}

func (h *Hasher) annotate(ctx context.Context, o client.Object, wanted map[string]string) (reconcile.Result, error) {
	before := o.DeepCopyObject().(client.Object)
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range wanted {
		annotations[key] = value
	}
	o.SetAnnotations(annotations)
	if equality.Semantic.DeepEqual(before.GetAnnotations(), annotations) {
		return reconcile.Result{}, nil
	}
	if err := h.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return settle(err)
	}
	return reconcile.Result{}, nil
}
