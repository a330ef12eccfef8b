package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// ledger is a cloud that keeps its instances in a map and satisfies the contract. Tests break it by replacing
// one of its functions.
type ledger struct {
	mu        sync.Mutex
	instances map[string]*v1.NodeClaim
	types     []*cloud.InstanceType
	claims    int
	rules     v1.LabelRules

	id      func(*v1.NodeClaim) string
	create  func(*ledger, *v1.NodeClaim) (*v1.NodeClaim, error)
	delete  func(*ledger, string) error
	get     func(*ledger, string) (*v1.NodeClaim, error)
	list    func(*ledger) []*v1.NodeClaim
	drift   cloud.DriftReason
	subject func(*Subject)
}

func newLedger() *ledger {
	return &ledger{
		instances: map[string]*v1.NodeClaim{},
		types:     []*cloud.InstanceType{ledgerType("small", "2"), ledgerType("large", "8")},
		rules:     v1.CoreLabelRules(),
		id:        func(c *v1.NodeClaim) string { return "ledger://" + string(c.UID) },
		create:    (*ledger).honestCreate,
		delete:    (*ledger).honestDelete,
		get:       (*ledger).honestGet,
		list:      (*ledger).honestList,
		subject:   func(*Subject) {},
	}
}

func ledgerType(name, cpu string) *cloud.InstanceType {
	return &cloud.InstanceType{
		Name: name,
		Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(corev1.LabelInstanceTypeStable, name), cloud.In(corev1.LabelArchStable, "amd64"),
			cloud.In(corev1.LabelOSStable, "linux"), cloud.In(corev1.LabelTopologyZone, "z"),
			cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand),
			cloud.DoesNotExist(corev1.LabelTopologyRegion), cloud.DoesNotExist(corev1.LabelWindowsBuild),
		},
		Offerings: []cloud.Offering{{Price: 1, Available: true, Requirements: []v1.NodeSelectorRequirementWithMinValues{
			cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand), cloud.In(corev1.LabelTopologyZone, "z"),
		}}},
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("4Gi"),
			corev1.ResourcePods: resource.MustParse("10"),
		},
		Overhead: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}
}

func (l *ledger) honestCreate(claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	offerings := cloud.NewOfferingList(l.types, l.rules)
	for c := range offerings.Candidates(claim) {
		out := claim.DeepCopy()
		out.Labels = map[string]string{
			corev1.LabelInstanceTypeStable: c.Type.Name, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
			corev1.LabelTopologyZone: c.Offering.Zone(), v1.CapacityTypeLabelKey: c.Offering.CapacityType(),
		}
		out.Status.ProviderID = l.id(claim)
		out.Status.Capacity, out.Status.Allocatable = c.Type.Capacity, c.Type.Allocatable()
		l.mu.Lock()
		defer l.mu.Unlock()
		if _, ok := l.instances[out.Status.ProviderID]; !ok {
			instance := out.DeepCopy()
			instance.CreationTimestamp = metav1.NewTime(time.Unix(1, 0))
			l.instances[out.Status.ProviderID] = instance
		}
		return out, nil
	}
	return nil, cloud.NewInsufficientCapacityError(offerings.Refusal(claim))
}

func (l *ledger) honestDelete(id string) error {
	if _, err := l.honestGet(id); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.instances, id)
	return nil
}

func (l *ledger) honestGet(id string) (*v1.NodeClaim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if claim, ok := l.instances[id]; ok {
		return claim.DeepCopy(), nil
	}
	return nil, cloud.NewNodeClaimNotFoundError(fmt.Errorf("instance %q", id))
}

func (l *ledger) honestList() []*v1.NodeClaim {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*v1.NodeClaim
	for _, id := range slices.Sorted(maps.Keys(l.instances)) {
		out = append(out, l.instances[id].DeepCopy())
	}
	return out
}

func (l *ledger) Create(_ context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	return l.create(l, claim)
}

func (l *ledger) Delete(_ context.Context, claim *v1.NodeClaim) error {
	return l.delete(l, claim.Status.ProviderID)
}

func (l *ledger) Get(_ context.Context, id string) (*v1.NodeClaim, error) { return l.get(l, id) }

func (l *ledger) List(context.Context) ([]*v1.NodeClaim, error) { return l.list(l), nil }

func (l *ledger) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	return l.types, nil
}

func (l *ledger) IsDrifted(context.Context, *v1.NodeClaim) (cloud.DriftReason, error) {
	return l.drift, nil
}

// rebooter answers every reboot with the same error.
type rebooter struct{ err error }

func (r rebooter) Reboot(context.Context, *v1.NodeClaim, string) error { return r.err }

// asSubject is the ledger as a subject of the suite.
func (l *ledger) asSubject() Subject {
	s := Subject{
		Cloud: cloud.Cloud{
			Name: "ledger", Provider: l, Labels: l.rules,
			NodeClasses: []cloud.NodeClass{{
				GVK: schema.GroupVersionKind{Group: v1alpha1.Group, Version: "v1alpha1", Kind: "KWOKNodeClass"},
				New: func() cloud.NodeClassObject { return &v1alpha1.KWOKNodeClass{} },
			}},
		},
		NodePool: &v1.NodePool{},
		NewNodeClaim: func(context.Context) (*v1.NodeClaim, error) {
			l.claims++
			name := fmt.Sprintf("claim-%d", l.claims)
			return &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}, nil
		},
		Launched: func(context.Context, *v1.NodeClaim) error { return nil },
		Pass:     func(context.Context) error { return nil },
	}
	l.subject(&s)
	return s
}

func TestAnHonestProviderPasses(t *testing.T) {
	Run(t, func(*testing.T) Subject { return newLedger().asSubject() })
}

// withInternal adds an internal label to the rules and to all types.
func withInternal(l *ledger, key string) {
	l.rules.Internal = map[string]bool{key: true}
	for _, t := range l.types {
		t.Requirements = append(t.Requirements, cloud.In(key, "a"))
	}
}

// TestInternalLabels: types may define labels that users may not name, if the provider registers them.
func TestInternalLabels(t *testing.T) {
	Run(t, func(*testing.T) Subject {
		l := newLedger()
		withInternal(l, v1.Group+"/internal")
		return l.asSubject()
	})
}

// broken makes a Create that spoils the honest answer.
func broken(spoil func(l *ledger, claim, created *v1.NodeClaim)) func(*ledger) {
	return func(l *ledger) {
		l.create = func(l *ledger, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
			created, err := l.honestCreate(claim)
			if err == nil {
				spoil(l, claim, created)
			}
			return created, err
		}
	}
}

// TestBrokenProvidersFail violates every rule in every known way, and expects that the check of that name fails.
func TestBrokenProvidersFail(t *testing.T) {
	tests := []struct {
		check, how string
		spoil      func(*ledger)
	}{
		{"describes itself", "no name", func(l *ledger) { l.subject = func(s *Subject) { s.Cloud.Name = "" } }},
		{"describes itself", "no class", func(l *ledger) { l.subject = func(s *Subject) { s.Cloud.NodeClasses = nil } }},
		{"describes itself", "no prototype", func(l *ledger) { l.subject = func(s *Subject) { s.Cloud.NodeClasses[0].New = nil } }},
		{"describes itself", "a negative toleration", func(l *ledger) {
			l.subject = func(s *Subject) {
				s.Cloud.RepairPolicies = []cloud.RepairPolicy{{ConditionType: "Ready", ConditionStatus: "False", TolerationDuration: -1}}
			}
		}},
		{"instance types are complete", "no types", func(l *ledger) { l.types = nil }},
		{"instance types are complete", "name twice", func(l *ledger) { l.types = append(l.types, l.types[0]) }},
		{"instance types are complete", "label not defined", func(l *ledger) { l.types[0].Requirements = l.types[0].Requirements[:6] }},
		{"instance types are complete", "unknown label", func(l *ledger) {
			l.types[0].Requirements = append(l.types[0].Requirements, cloud.In("example.com/other", "a"))
		}},
		{"instance types are complete", "internal label that users may name", func(l *ledger) { withInternal(l, "example.com/other") }},
		{"instance types are complete", "internal label of an offering", func(l *ledger) {
			withInternal(l, v1.Group+"/internal")
			l.types[0].Offerings[0].Requirements = append(l.types[0].Offerings[0].Requirements, cloud.In(v1.Group+"/internal", "a"))
		}},
		{"instance types are complete", "label twice", func(l *ledger) {
			l.types[0].Requirements = append(l.types[0].Requirements, cloud.In("beta.kubernetes.io/arch", "amd64"))
		}},
		{"instance types are complete", "other name", func(l *ledger) { l.types[0].Name = "other" }},
		{"instance types are complete", "unavailable zone", func(l *ledger) { l.types[0].Offerings[0].Available = false }},
		{"instance types are complete", "no pods", func(l *ledger) { delete(l.types[0].Capacity, corev1.ResourcePods) }},
		{"instance types are complete", "more overhead than capacity", func(l *ledger) {
			l.types[0].Overhead[corev1.ResourceCPU] = resource.MustParse("3")
		}},
		{"instance types are complete", "offering twice", func(l *ledger) {
			l.types[0].Offerings = append(l.types[0].Offerings, l.types[0].Offerings[0])
		}},
		{"instance types are complete", "no capacity type", func(l *ledger) {
			l.types[0].Offerings[0].Requirements = l.types[0].Offerings[0].Requirements[1:]
		}},
		{"instance types are complete", "no zone", func(l *ledger) {
			l.types[0].Offerings[0].Requirements = l.types[0].Offerings[0].Requirements[:1]
		}},
		{"instance types are complete", "negative price", func(l *ledger) { l.types[0].Offerings[0].Price = -1 }},
		{"instance types are the same when asked again", "price moves", func(l *ledger) {
			l.subject = func(s *Subject) { s.Cloud.Provider = &restless{ledger: l} }
		}},
		{"create describes the instance", "no id", broken(func(_ *ledger, _, c *v1.NodeClaim) { c.Status.ProviderID = "" })},
		{"create describes the instance", "no zone", broken(func(_ *ledger, _, c *v1.NodeClaim) { delete(c.Labels, corev1.LabelTopologyZone) })},
		{"create describes the instance", "unknown type", broken(func(_ *ledger, _, c *v1.NodeClaim) { c.Labels[corev1.LabelInstanceTypeStable] = "x" })},
		{"create describes the instance", "zone without an offering", broken(func(_ *ledger, _, c *v1.NodeClaim) { c.Labels[corev1.LabelTopologyZone] = "x" })},
		{"create describes the instance", "another claim", broken(func(_ *ledger, _, c *v1.NodeClaim) { c.UID = "x" })},
		{"create describes the instance", "no capacity", broken(func(_ *ledger, _, c *v1.NodeClaim) { c.Status.Capacity = nil })},
		{"create leaves its argument alone", "labels the argument", broken(func(_ *ledger, in, _ *v1.NodeClaim) { in.Labels = map[string]string{"a": "b"} })},
		{"create leaves its argument alone", "changes the spec", broken(func(_ *ledger, _, c *v1.NodeClaim) {
			c.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{cloud.In("a", "b")}
		})},
		{"create is idempotent", "new id each time", func(l *ledger) {
			n := 0
			l.id = func(*v1.NodeClaim) string { n++; return fmt.Sprint("ledger://", n) }
		}},
		{"create is idempotent", "new labels each time", func(l *ledger) {
			n := 0
			broken(func(_ *ledger, _, c *v1.NodeClaim) { n++; c.Labels["n"] = fmt.Sprint(n) })(l)
		}},
		{"create is idempotent", "second instance behind the first", broken(func(l *ledger, _, c *v1.NodeClaim) {
			other := c.DeepCopy()
			other.Status.ProviderID += "-twin"
			l.instances[other.Status.ProviderID] = other
		})},
		{"create is idempotent under concurrency", "new id each time", func(l *ledger) {
			var mu sync.Mutex
			n := 0
			l.id = func(*v1.NodeClaim) string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprint("ledger://", n) }
		}},
		{"claims do not share instances", "one id for all", func(l *ledger) { l.id = func(*v1.NodeClaim) string { return "ledger://one" } }},
		{"create refuses the impossible", "launches something else", func(l *ledger) {
			l.create = func(l *ledger, c *v1.NodeClaim) (*v1.NodeClaim, error) {
				c.Spec.Requirements = nil
				return l.honestCreate(c)
			}
		}},
		{"create refuses the impossible", "untyped error", func(l *ledger) {
			l.create = func(*ledger, *v1.NodeClaim) (*v1.NodeClaim, error) { return nil, errors.New("no") }
		}},
		{"create refuses the impossible", "leaves an instance", func(l *ledger) {
			l.create = func(l *ledger, c *v1.NodeClaim) (*v1.NodeClaim, error) {
				l.instances["x"] = c
				return l.honestCreate(c)
			}
		}},
		{"get and list agree", "list forgets", func(l *ledger) { l.list = func(*ledger) []*v1.NodeClaim { return nil } }},
		{"get and list agree", "get forgets labels", func(l *ledger) {
			l.get = func(l *ledger, id string) (*v1.NodeClaim, error) {
				c, err := l.honestGet(id)
				c.Labels = nil
				return c, err
			}
		}},
		{"get and list agree", "no creation time", broken(func(l *ledger, _, c *v1.NodeClaim) {
			l.instances[c.Status.ProviderID].CreationTimestamp = metav1.Time{}
		})},
		{"a new instance is not drifted", "drifted", func(l *ledger) { l.drift = "Reason" }},
		{"what does not exist is not found", "get with an untyped error", func(l *ledger) {
			l.get = func(*ledger, string) (*v1.NodeClaim, error) { return nil, errors.New("no") }
		}},
		{"what does not exist is not found", "delete of nothing succeeds", func(l *ledger) { l.delete = func(*ledger, string) error { return nil } }},
		{"what does not exist is not rebooted", "reboot of nothing succeeds", func(l *ledger) {
			l.subject = func(s *Subject) { s.Cloud.Rebooter = rebooter{} }
		}},
		{"what does not exist is not rebooted", "reboots are not implemented after all", func(l *ledger) {
			l.subject = func(s *Subject) { s.Cloud.Rebooter = rebooter{cloud.NewRebootNotImplementedError("ledger")} }
		}},
		{"delete ends in not found", "never ends", func(l *ledger) { l.delete = func(*ledger, string) error { return nil } }},
		{"delete ends in not found", "says so but keeps it", func(l *ledger) {
			l.delete = func(_ *ledger, id string) error { return cloud.NewNodeClaimNotFoundError(errors.New(id)) }
		}},
		{"delete leaves other instances alone", "deletes all", func(l *ledger) {
			l.delete = func(l *ledger, id string) error {
				err := l.honestDelete(id)
				clear(l.instances)
				return err
			}
		}},
	}
	covered := map[string]bool{}
	for _, tt := range tests {
		covered[tt.check] = true
		t.Run(tt.check+"/"+tt.how, func(t *testing.T) {
			l := newLedger()
			tt.spoil(l)
			i := slices.IndexFunc(checks(), func(c check) bool { return c.name == tt.check })
			if i < 0 {
				t.Fatal("there is no such check")
			}
			if err := checks()[i].run(t.Context(), l.asSubject()); err == nil {
				t.Error("the check passed")
			}
		})
	}
	for _, c := range checks() {
		if !covered[c.name] {
			t.Errorf("no broken provider shows that %q can fail", c.name)
		}
	}
}

// restless changes its prices with every call.
type restless struct {
	*ledger
	price float64
}

func (r *restless) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	r.price++
	t := ledgerType("small", "2")
	t.Offerings[0].Price = r.price
	return []*cloud.InstanceType{t}, nil
}
