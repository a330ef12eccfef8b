package simulation

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/buffer"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// ResolvedBuffer is a CapacityBuffer with its virtual pods.
type ResolvedBuffer struct {
	Owner Owner
	Pods  []*model.Pod
	first *corev1.Pod
}

// UnresolvedBuffer is a CapacityBuffer without virtual pods, and why.
type UnresolvedBuffer struct {
	Owner Owner
	Why   string
}

// Objects are the virtual pods as objects. They never exist in a cluster.
func (k ResolvedBuffer) Objects() []client.Object {
	out := make([]client.Object, len(k.Pods))
	for i, p := range k.Pods {
		pod := k.first.DeepCopy()
		pod.Name, pod.UID = p.Name, types.UID(p.UID)
		out[i] = pod
	}
	return out
}

// objectGetter finds the objects that buffers refer to.
type objectGetter map[string]client.Object

func objectKey(o client.Object, namespace, name string) string {
	return fmt.Sprintf("%T/%s/%s", o, namespace, name)
}

func (s objectGetter) add(o client.Object) { s[objectKey(o, o.GetNamespace(), o.GetName())] = o }

// Get implements buffer.Getter.
func (s objectGetter) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, ok := s[objectKey(into, key.Namespace, key.Name)]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// resolveBuffers adds the virtual pods of every buffer to the cluster state.
func (w *clusterObjects) resolveBuffers(ctx context.Context, opts Options) (kept []ResolvedBuffer, unkept []UnresolvedBuffer) {
	slices.SortFunc(w.buffers, func(a, b *v1beta1.CapacityBuffer) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, b := range w.buffers {
		owner := Owner{Kind: "CapacityBuffer", Namespace: b.Namespace, Name: b.Name}
		if opts.IgnoreBuffers {
			unkept = append(unkept, UnresolvedBuffer{owner, "the feature gate CapacityBuffer is off"})
			continue
		}
		chunk, failure := buffer.Resolve(ctx, buffer.Source{Templates: w.referenced, Workloads: w.referenced}, b)
		if failure != nil {
			unkept = append(unkept, UnresolvedBuffer{owner, failure.Error()})
			continue
		}
		first := buffer.Pod(b, chunk.Template, time.Time{})
		replicas := buffer.Replicas(b.Spec, chunk, buffer.Requests(first))
		if replicas == 0 {
			unkept = append(unkept, UnresolvedBuffer{owner, "it results in no pod"})
			continue
		}
		pods := buffer.Pods(w.translator, b, first, replicas)
		w.store.Buffers.Put(owner.Namespace+"/"+owner.Name, pods)
		kept = append(kept, ResolvedBuffer{Owner: owner, Pods: pods, first: first})
	}
	return kept, unkept
}
