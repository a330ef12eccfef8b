package provisioning

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// expect gives machines of static pools that are not launched yet the room that they will have at least. Their claims ask for
// nothing, so that nothing is known of them until their launch; without this, pods that come together with the pool would get
// machines beside it.
func (p *Provisioner) expect(ctx context.Context, nodes []*model.Node) ([]*model.Node, error) {
	out := nodes
	floors := map[string]resource.Vector{}
	for i, n := range nodes {
		if !n.Managed || n.Launched || n.Pool == "" || n.Allocatable.At(resource.Pods) > 0 {
			continue
		}
		floor, known := floors[n.Pool]
		if !known {
			var err error
			if floor, err = p.floor(ctx, n.Pool); err != nil {
				return nil, err
			}
			floors[n.Pool] = floor
		}
		if floor == nil {
			continue
		}
		if &out[0] == &nodes[0] {
			out = append([]*model.Node{}, nodes...)
		}
		expected := *n
		expected.Allocatable = floor
		out[i] = &expected
	}
	return out, nil
}

// floor is what every machine of a static pool leaves for pods; nil when nobody can tell.
func (p *Provisioner) floor(ctx context.Context, name string) (resource.Vector, error) {
	pool := &v1.NodePool{}
	if err := p.Client.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("reading nodepool %q: %w", name, err)
	}
	if pool.Spec.Replicas == nil || !p.Cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
		return nil, nil
	}
	types, err := p.Cloud.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		return nil, nil //nolint:nilerr // not to know is no failure: the machines are counted on once they are launched
	}
	return p.Translator.Pool(pool, p.catalogs.Of(types)).Floor(), nil
}
