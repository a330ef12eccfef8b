package capacitybuffer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/buffer"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Deps is what Buffers works with.
type Deps struct {
	deps.Shared
	// Workloads reads from the API server: caching all workloads for the few that buffers refer to would cost too much.
	Workloads  buffer.Getter
	Store      *cluster.Store
	Translator *translate.Translator
	Log        *slog.Logger
}

// Buffers keeps the virtual pods of every buffer in the cluster state. It is safe for concurrent use.
type Buffers struct {
	Deps

	mu sync.Mutex
	// hydrated is set once every buffer that was ready at start has its virtual pods.
	hydrated bool
	// known is what the virtual pods of each buffer were built from, by namespace/name.
	known map[string]podSource
}

// podSource is what virtual pods are built from.
type podSource struct {
	uid      types.UID
	first    *corev1.Pod
	replicas int32
}

// demand is what a buffer resolves to.
type demand struct {
	chunk buffer.Chunk
	// first is the first virtual pod.
	first    *corev1.Pod
	replicas int32
}

// NewBuffers returns Buffers without virtual pods, and marks the headroom as unknown: no node counts as empty until virtual pods
// have been placed.
func NewBuffers(d Deps) *Buffers {
	d.Store.Buffers.Expect()
	d.Log = d.Log.With(logfield.Controller(name))
	return &Buffers{Deps: d, known: map[string]podSource{}}
}

// resolve resolves a buffer.
func (s *Buffers) resolve(ctx context.Context, b *v1beta1.CapacityBuffer) (demand, *buffer.Failure) {
	chunk, failure := buffer.Resolve(ctx, buffer.Source{Templates: s.Client, Workloads: s.Workloads}, b)
	if failure != nil {
		return demand{}, failure
	}
	first := buffer.Pod(b, chunk.Template, s.Clock.Now())
	return demand{chunk: chunk, first: first, replicas: buffer.Replicas(b.Spec, chunk, buffer.Requests(first))}, nil
}

// put sets the virtual pods of a buffer, unless they are the same as before.
func (s *Buffers) put(b *v1beta1.CapacityBuffer, want demand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fill(b, want)
}

func (s *Buffers) fill(b *v1beta1.CapacityBuffer, want demand) {
	key := keyOf(b)
	now := podSource{uid: b.UID, first: want.first, replicas: want.replicas}
	if known, ok := s.known[key]; ok && known.same(now) {
		return
	}
	s.known[key] = now
	s.Store.Buffers.Put(key, buffer.Pods(s.Translator, b, want.first, want.replicas))
}

// same reports whether both give the same virtual pods; when they were built does not matter.
func (o podSource) same(other podSource) bool {
	return o.uid == other.uid && o.replicas == other.replicas &&
		apiequality.Semantic.DeepEqual(o.first.Spec, other.first.Spec) &&
		apiequality.Semantic.DeepEqual(o.first.Labels, other.first.Labels)
}

// drop forgets a buffer, and reports whether it was known.
func (s *Buffers) drop(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.known[key]
	delete(s.known, key)
	s.Store.Buffers.Drop(key)
	return known
}

// Hydrate adds, once, the virtual pods of buffers that were ready when this process started. Other and new buffers are left to
// the controller. It returns the error of a failed read; the next call tries again.
//
// The lock is held meanwhile, so that what the controller resolves later is not overwritten with what was read earlier.
func (s *Buffers) Hydrate(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hydrated {
		return nil
	}
	var list v1beta1.CapacityBufferList
	if err := s.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing capacity buffers: %w", err)
	}
	for i := range list.Items {
		b := &list.Items[i]
		_, known := s.known[keyOf(b)]
		if known || !b.DeletionTimestamp.IsZero() || !ready(b) {
			continue
		}
		want, failure := s.resolve(ctx, b)
		switch {
		case failure == nil:
			s.fill(b, want)
		case !failure.Invalid:
			return fmt.Errorf("resolving capacity buffer %q: %w", keyOf(b), failure)
		}
	}
	s.hydrated = true
	return nil
}

func ready(b *v1beta1.CapacityBuffer) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionTypeReadyForProvisioning)
}

func keyOf(b *v1beta1.CapacityBuffer) string { return client.ObjectKeyFromObject(b).String() }
