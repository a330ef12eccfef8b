package catalog_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest"
)

// launches is a cloud that has the instance types of a catalog, launches what a choice says, and keeps its instances in a map.
type launches struct {
	*world
	mu        sync.Mutex
	instances map[string]*v1.NodeClaim
}

func (l *launches) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	listed, err := l.Types(ctx, l.classes["default"])
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := "azure:///" + string(claim.UID)
	if launched, ok := l.instances[id]; ok {
		out := claim.DeepCopy()
		out.Labels, out.Status = launched.Labels, launched.Status
		return out, nil
	}
	chosen, err := choice.Choose(choice.Input{Claim: claim, Offerings: cloud.NewOfferingList(listed, label.Rules()), SKU: l.SKU, Unavailable: l.UnavailableOfferings, Random: rand.IntN})
	if err != nil {
		return nil, err
	}
	out := claim.DeepCopy()
	out.Labels = map[string]string{}
	for _, r := range slices.Concat(chosen.InstanceType.Requirements, chosen.Offering.Requirements) {
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			out.Labels[r.Key] = r.Values[0]
		}
	}
	out.Status.ProviderID, out.Status.Capacity, out.Status.Allocatable = id, chosen.InstanceType.Capacity, chosen.InstanceType.Allocatable()
	kept := out.DeepCopy()
	kept.CreationTimestamp = metav1.NewTime(time.Unix(1, 0))
	l.instances[id] = kept
	return out, nil
}

func (l *launches) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	_, err := l.Get(ctx, claim.Status.ProviderID)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.instances, claim.Status.ProviderID)
	return err
}

func (l *launches) Get(_ context.Context, id string) (*v1.NodeClaim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if claim, ok := l.instances[id]; ok {
		return claim.DeepCopy(), nil
	}
	return nil, cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %q", id))
}

func (l *launches) List(context.Context) ([]*v1.NodeClaim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*v1.NodeClaim
	for _, id := range slices.Sorted(maps.Keys(l.instances)) {
		out = append(out, l.instances[id].DeepCopy())
	}
	return out, nil
}

func (*launches) IsDrifted(context.Context, *v1.NodeClaim) (cloud.DriftReason, error) { return "", nil }

// TestContract checks instance types and choices against the contract of providers. What is launched here is only recorded.
func TestContract(t *testing.T) {
	t.Attr("covers", "Z025")
	cloudtest.Run(t, func(t *testing.T) cloudtest.Subject {
		l := &launches{world: newWorld(t), instances: map[string]*v1.NodeClaim{}}
		pool := &v1.NodePool{}
		pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
		claims := 0
		return cloudtest.Subject{
			Cloud: cloud.Cloud{
				Name: "azure", Provider: l, Labels: label.Rules(),
				NodeClasses: []cloud.NodeClass{{GVK: v1beta1.SchemeGroupVersion.WithKind("AKSNodeClass"), New: func() cloud.NodeClassObject { return &v1beta1.AKSNodeClass{} }}},
			},
			NodePool: pool,
			NewNodeClaim: func(context.Context) (*v1.NodeClaim, error) {
				claims++
				claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("claim-%d", claims), UID: types.UID(fmt.Sprint(claims))}}
				claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In(label.SKUFamily, "D")}
				claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
				return claim, nil
			},
			Launched: func(context.Context, *v1.NodeClaim) error { return nil },
			Pass:     func(context.Context) error { return nil },
		}
	})
}
