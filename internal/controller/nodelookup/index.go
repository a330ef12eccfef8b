package nodelookup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Fields that the cache indexes. Every lookup of this package and of the controllers goes through one of them.
const (
	NodeProviderID  = "spec.providerID"
	ClaimProviderID = "status.providerID"
	PodNode         = "spec.nodeName"
	AttachmentNode  = "spec.nodeName"
	ClaimPool       = "metadata.labels." + v1.NodePoolLabelKey
	ClaimClassGroup = "spec.nodeClassRef.group"
	ClaimClassKind  = "spec.nodeClassRef.kind"
	ClaimClassName  = "spec.nodeClassRef.name"
	PoolClassGroup  = "spec.template.spec.nodeClassRef.group"
	PoolClassKind   = "spec.template.spec.nodeClassRef.kind"
	PoolClassName   = "spec.template.spec.nodeClassRef.name"
)

// Index is one index of the cache.
type Index struct {
	Object client.Object
	Field  string
	Values client.IndexerFunc
}

// Indexes returns every index that the controllers need.
func Indexes() []Index {
	return []Index{
		{&corev1.Node{}, NodeProviderID, func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }},
		{&v1.NodeClaim{}, ClaimProviderID, func(o client.Object) []string { return []string{o.(*v1.NodeClaim).Status.ProviderID} }},
		{&corev1.Pod{}, PodNode, func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }},
		{&storagev1.VolumeAttachment{}, AttachmentNode, func(o client.Object) []string {
			return []string{o.(*storagev1.VolumeAttachment).Spec.NodeName}
		}},
		{&v1.NodeClaim{}, ClaimPool, func(o client.Object) []string { return []string{o.GetLabels()[v1.NodePoolLabelKey]} }},
		{&v1.NodeClaim{}, ClaimClassGroup, ofClaim(func(r *v1.NodeClassReference) string { return r.Group })},
		{&v1.NodeClaim{}, ClaimClassKind, ofClaim(func(r *v1.NodeClassReference) string { return r.Kind })},
		{&v1.NodeClaim{}, ClaimClassName, ofClaim(func(r *v1.NodeClassReference) string { return r.Name })},
		{&v1.NodePool{}, PoolClassGroup, ofPool(func(r *v1.NodeClassReference) string { return r.Group })},
		{&v1.NodePool{}, PoolClassKind, ofPool(func(r *v1.NodeClassReference) string { return r.Kind })},
		{&v1.NodePool{}, PoolClassName, ofPool(func(r *v1.NodeClassReference) string { return r.Name })},
	}
}

// AddIndexes adds every index to the cache; call it once, before the cache starts.
func AddIndexes(ctx context.Context, to client.FieldIndexer) error {
	var errs []error
	for _, index := range Indexes() {
		if err := to.IndexField(ctx, index.Object, index.Field, index.Values); err != nil {
			errs = append(errs, fmt.Errorf("indexing %T by %s: %w", index.Object, index.Field, err))
		}
	}
	return errors.Join(errs...)
}

func ofClaim(part func(*v1.NodeClassReference) string) client.IndexerFunc {
	return func(o client.Object) []string { return ofReference(o.(*v1.NodeClaim).Spec.NodeClassRef, part) }
}

func ofPool(part func(*v1.NodeClassReference) string) client.IndexerFunc {
	return func(o client.Object) []string {
		return ofReference(o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef, part)
	}
}

func ofReference(ref *v1.NodeClassReference, part func(*v1.NodeClassReference) string) []string {
	if ref == nil {
		return nil
	}
	return []string{part(ref)}
}
