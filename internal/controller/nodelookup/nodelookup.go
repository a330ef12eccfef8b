// Package nodelookup finds related objects: the Node of a NodeClaim and the NodeClaim of a Node, which are matched by provider ID alone,
// the pods of a Node, and the NodeClaims and NodePools of a NodeClass.
//
// Source: spec shared vocabulary, names (matching of Node and NodeClaim); spec api, field indexes.
package nodelookup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Mismatch is why a Node or NodeClaim does not have exactly one counterpart. Compare with errors.Is.
type Mismatch string

const (
	// NotFound means that no object has the provider ID, or that it is empty.
	NotFound Mismatch = "no object with this provider ID"
	// Duplicate means that more than one object has the provider ID.
	Duplicate Mismatch = "several objects with this provider ID"
)

// Error implements error.
func (m Mismatch) Error() string { return string(m) }

// NodesOf lists the Nodes of a NodeClaim: normally one, none while its provider ID is empty.
func NodesOf(ctx context.Context, r client.Reader, claim *v1.NodeClaim) ([]corev1.Node, error) {
	if claim.Status.ProviderID == "" {
		return nil, nil
	}
	var list corev1.NodeList
	if err := r.List(ctx, &list, client.MatchingFields{NodeProviderID: claim.Status.ProviderID}); err != nil {
		return nil, fmt.Errorf("listing nodes of nodeclaim %q: %w", claim.Name, err)
	}
	return list.Items, nil
}

// NodeOf returns the only Node of a NodeClaim. The error is [NotFound], [Duplicate], or that of the client.
func NodeOf(ctx context.Context, r client.Reader, claim *v1.NodeClaim) (*corev1.Node, error) {
	nodes, err := NodesOf(ctx, r, claim)
	if err != nil {
		return nil, err
	}
	return only(nodes)
}

// ClaimsOf lists the NodeClaims of a Node: normally one, none while its provider ID is empty.
func ClaimsOf(ctx context.Context, r client.Reader, node *corev1.Node) ([]v1.NodeClaim, error) {
	if node.Spec.ProviderID == "" {
		return nil, nil
	}
	var list v1.NodeClaimList
	if err := r.List(ctx, &list, client.MatchingFields{ClaimProviderID: node.Spec.ProviderID}); err != nil {
		return nil, fmt.Errorf("listing nodeclaims of node %q: %w", node.Name, err)
	}
	return list.Items, nil
}

// ClaimOf returns the only NodeClaim of a Node. The error is [NotFound], [Duplicate], or that of the client.
func ClaimOf(ctx context.Context, r client.Reader, node *corev1.Node) (*v1.NodeClaim, error) {
	claims, err := ClaimsOf(ctx, r, node)
	if err != nil {
		return nil, err
	}
	return only(claims)
}

// PodsOn lists the pods bound to a Node.
func PodsOn(ctx context.Context, r client.Reader, nodeName string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := r.List(ctx, &list, client.MatchingFields{PodNode: nodeName}); err != nil {
		return nil, fmt.Errorf("listing pods of node %q: %w", nodeName, err)
	}
	return list.Items, nil
}

func only[T any](items []T) (*T, error) {
	switch len(items) {
	case 0:
		return nil, NotFound
	case 1:
		return &items[0], nil
	default:
		return nil, Duplicate
	}
}
