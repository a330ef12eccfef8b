package kwok

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest"
)

func TestContract(t *testing.T) {
	for _, name := range []string{DefaultCatalog, "aws/us-east-1"} {
		t.Run(name, func(t *testing.T) {
			cloudtest.Run(t, func(t *testing.T) cloudtest.Subject {
				w := newWorld(t, Options{Catalog: name})
				return cloudtest.Subject{
					Cloud:        w.cloud,
					NodePool:     &v1.NodePool{},
					NewNodeClaim: func(context.Context) (*v1.NodeClaim, error) { return w.claim(), nil },
					Launched: func(ctx context.Context, claim *v1.NodeClaim) error {
						if err := record(ctx, w.client, claim, w.clock.Now()); err != nil {
							return err
						}
						_, err := w.joiner.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Name: claim.Name}})
						return err
					},
					Pass: func(context.Context) error { return nil },
				}
			})
		})
	}
}
