package provisioning

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"k8s.io/utils/ptr"
)

// staleCache lists NodePools as they were before their conditions were written.
type staleCache struct{ client.Client }

func (c staleCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if pools, is := list.(*v1.NodePoolList); is {
		for i := range pools.Items {
			if pools.Items[i].Name == "preferred" {
				pools.Items[i].Status = v1.NodePoolStatus{}
			}
		}
	}
	return err
}

// brokenReader is an API server that does not answer.
type brokenReader struct{ client.Reader }

func (brokenReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("unreachable")
}

// TestAPoolThatIsNotReadyInTheCacheOnlyIsUsed: a stale Ready does not send pods to a NodePool with a lower weight.
func TestAPoolThatIsNotReadyInTheCacheOnlyIsUsed(t *testing.T) {
	pools := func(change ...func(*v1.NodePool)) []client.Object {
		preferred := readyPool("preferred", func(p *v1.NodePool) { p.Spec.Weight = ptr.To[int32](50) })
		for _, f := range change {
			f(preferred)
		}
		return []client.Object{preferred, readyPool("fallback")}
	}
	for name, test := range map[string]struct {
		pools   []client.Object
		prepare func(*harness)
		want    string
	}{
		"the watch lags":                 {pools(), func(*harness) {}, "preferred"},
		"it is not ready":                {pools(func(p *v1.NodePool) { p.Status.Conditions = nil }), func(*harness) {}, "fallback"},
		"the API server does not answer": {pools(), func(w *harness) { w.p.Live = brokenReader{w.p.Live} }, "fallback"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, test.pools...)
			w.p.Client = readyourwrites.New(staleCache{w.API}, w.Clock)
			test.prepare(w)
			w.see(pendingPod("p"))
			w.decide()
			claims := w.claims()
			if len(claims) != 1 || claims[0].Labels[v1.NodePoolLabelKey] != test.want {
				t.Errorf("got %d NodeClaims, want one of %s: %v", len(claims), test.want, claims)
			}
		})
	}
}

// countingReader counts lists.
type countingReader struct {
	client.Reader
	lists int
}

func (r *countingReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	r.lists++
	return r.Reader.List(ctx, list, opts...)
}

// TestReadyPoolsAreReadFromTheCache: a pass asks the API server only if the cache shows a NodePool that is not ready.
func TestReadyPoolsAreReadFromTheCache(t *testing.T) {
	static := fakecluster.Pool()
	static.Spec.Replicas = ptr.To[int64](0)
	for name, test := range map[string]struct {
		pools []client.Object
		want  int
	}{
		"ready":     {[]client.Object{readyPool("default")}, 0},
		"static":    {[]client.Object{readyPool("default"), static}, 0},
		"not ready": {[]client.Object{readyPool("default"), fakecluster.Pool()}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, test.pools...)
			reader := &countingReader{Reader: w.p.Live}
			w.p.Live = reader
			w.see(pendingPod("p"))
			w.decide()
			if got := len(w.claims()); got != 1 || reader.lists != test.want {
				t.Errorf("got %d NodeClaims after %d lists, want one after %d", got, reader.lists, test.want)
			}
		})
	}
}
