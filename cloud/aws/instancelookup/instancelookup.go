// Package instancelookup finds the NodeClaims and nodes of an instance in the cache, by the id that EC2 has for it.
//
// Source: AWS provider specification, client set-up (field indexes).
package instancelookup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
)

// The fields by which the cache is asked.
const (
	claimField = "status.instanceID"
	nodeField  = "spec.instanceID"
)

// Index is one index of the cache.
type Index struct {
	Object client.Object
	Field  string
	Values client.IndexerFunc
}

// Indexes are all that this package needs.
func Indexes() []Index {
	id := func(providerID string) []string {
		if id, ok := instance.ParseProviderID(providerID); ok {
			return []string{id}
		}
		return nil
	}
	return []Index{
		{&v1.NodeClaim{}, claimField, func(o client.Object) []string { return id(o.(*v1.NodeClaim).Status.ProviderID) }},
		{&corev1.Node{}, nodeField, func(o client.Object) []string { return id(o.(*corev1.Node).Spec.ProviderID) }},
	}
}

// AddIndexes adds them to the cache; call it once, before the cache starts.
func AddIndexes(ctx context.Context, to client.FieldIndexer) error {
	for _, i := range Indexes() {
		if err := to.IndexField(ctx, i.Object, i.Field, i.Values); err != nil {
			return fmt.Errorf("adding index %q to the cache: %w", i.Field, err)
		}
	}
	return nil
}

// NodeClaims returns the NodeClaims of an instance: normally one, none if it is not of this cluster.
func NodeClaims(ctx context.Context, r client.Reader, id string) ([]v1.NodeClaim, error) {
	var list v1.NodeClaimList
	if err := r.List(ctx, &list, client.MatchingFields{claimField: id}); err != nil {
		return nil, fmt.Errorf("listing nodeclaims of instance %q: %w", id, err)
	}
	return list.Items, nil
}

// Nodes are the nodes of an instance: normally one, none before it joins.
func Nodes(ctx context.Context, r client.Reader, id string) ([]corev1.Node, error) {
	var list corev1.NodeList
	if err := r.List(ctx, &list, client.MatchingFields{nodeField: id}); err != nil {
		return nil, fmt.Errorf("listing nodes of instance %q: %w", id, err)
	}
	return list.Items, nil
}
