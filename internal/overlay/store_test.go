package overlay_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

// shop is a cloud that only lists types.
type shop struct {
	cloud.Provider
	types []*cloud.InstanceType
	err   error
}

func (s *shop) InstanceTypes(context.Context, *v1.NodePool) ([]*cloud.InstanceType, error) {
	return s.types, s.err
}

func TestPoolsThatWereNotEvaluatedHaveNoTypes(t *testing.T) {
	t.Attr("covers", "L368")
	known, unknown := pool("known", nil, instanceType("small")), pool("unknown", nil, instanceType("small"))
	store := &overlay.Store{}
	provider := overlay.Decorate(&shop{types: known.Types}, store)
	expect := func(p overlay.Pool, evaluated bool) {
		t.Helper()
		types, err := provider.InstanceTypes(t.Context(), p.NodePool)
		switch {
		case evaluated && (err != nil || len(types) != 1):
			t.Errorf("pool %s has %v, %v", p.NodePool.Name, types, err)
		case !evaluated && (!cloud.IsUnevaluatedNodePool(err) || types != nil):
			t.Errorf("pool %s has %v, %v, want the typed error", p.NodePool.Name, types, err)
		}
	}
	expect(known, false)
	corrections, _ := overlay.Evaluate(nil, []overlay.Pool{known}, v1.CoreLabelRules())
	store.Swap(corrections)
	expect(known, true)
	expect(unknown, false)
	if _, err := provider.InstanceTypes(t.Context(), unknown.NodePool); err == nil || err.Error() != `nodepool "unknown" is awaiting evaluation` {
		t.Errorf("the error reads %v", err)
	}
}

func TestErrorsOfTheCloudPassThrough(t *testing.T) {
	boom := errors.New("boom")
	if _, err := overlay.Decorate(&shop{err: boom}, &overlay.Store{}).InstanceTypes(t.Context(), &v1.NodePool{}); !errors.Is(err, boom) {
		t.Errorf("error %v, want the cloud's", err)
	}
}

// TestOnlyWhatIsCorrectedIsCopied checks that all other values, slices and maps included, are shared with the list of the cloud.
func TestOnlyWhatIsCorrectedIsCopied(t *testing.T) {
	t.Attr("covers", "L370")
	priced, sized, untouched := instanceType("priced"), instanceType("sized"), instanceType("untouched")
	o := evaluate(t, overlays(
		named("a", price("7"), typed("priced"), zone("a")),
		named("b", capacity("example.com/gpu", "1"), typed("sized")),
	), pool("p", nil, priced, sized, untouched), pool("q", nil, untouched))
	got := o.types("p")
	if got[2] != untouched || &o.types("q")[0] != &o.pools[1].Types[0] {
		t.Error("a type that nothing applies to was copied")
	}
	if got[0] == priced || &got[0].Requirements[0] != &priced.Requirements[0] || !sameMap(got[0].Capacity, priced.Capacity) || !sameMap(got[0].Overhead, priced.Overhead) {
		t.Error("a type with other prices shares too little or too much")
	}
	if &got[0].Offerings[0].Requirements[0] != &priced.Offerings[0].Requirements[0] {
		t.Error("the labels of an offering were copied")
	}
	if got[1] == sized || &got[1].Offerings[0] != &sized.Offerings[0] || sameMap(got[1].Capacity, sized.Capacity) || !sameMap(got[1].Overhead, sized.Overhead) {
		t.Error("a type with more resources shares too little or too much")
	}
	if diff := cmp.Diff(instanceType("priced"), priced); diff != "" {
		t.Errorf("the cloud's own type changed\n%s", diff)
	}
	if diff := cmp.Diff(instanceType("sized"), sized); diff != "" {
		t.Errorf("the cloud's own type changed\n%s", diff)
	}
}

func sameMap(a, b any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// TestPoolsDoNotAffectEachOther checks pools that share the types of the cloud.
func TestPoolsDoNotAffectEachOther(t *testing.T) {
	t.Attr("covers", "L370")
	small := instanceType("small")
	o := evaluate(t, overlays(
		named("p", price("1"), inPool("p"), zone("a"), capacityType("spot")),
		named("q", price("2"), inPool("q"), zone("a"), capacityType("spot")),
	), pool("p", nil, small), pool("q", nil, small), pool("r", nil, small))
	o.expectVerdicts(t, map[string]string{"p": "", "q": ""})
	o.expectChanges(t, "p", map[string]string{"small a/spot": "1"})
	o.expectChanges(t, "q", map[string]string{"small a/spot": "2"})
	o.expectChanges(t, "r", map[string]string{})
}

// TestEqualArgumentsReturnEqualPointers checks that callers can cache by list, across calls and pools.
func TestEqualArgumentsReturnEqualPointers(t *testing.T) {
	t.Attr("covers", "L370")
	types := []*cloud.InstanceType{instanceType("small"), instanceType("large")}
	p, q, apart := pool("p", nil, types...), pool("q", map[string]string{"example.com/other": "x"}, types...), pool("apart", map[string]string{"example.com/team": "x"}, types...)
	list := overlays(named("o", price("7"), typed("small")), named("team", price("8"), typed("large"), in("example.com/team", "x")))
	corrections, _ := overlay.Evaluate(list, []overlay.Pool{p, q, apart}, v1.CoreLabelRules())
	var store overlay.Store
	store.Swap(corrections)
	ask := func(p overlay.Pool) []*cloud.InstanceType {
		t.Helper()
		got, err := store.Correct(p.NodePool.Name, p.Types)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := ask(p)
	if second := ask(p); second[0] != first[0] {
		t.Error("the same question got another answer")
	}
	if other := ask(q); other[0] != first[0] {
		t.Error("pools that no overlay tells apart got different answers")
	}
	if other := ask(apart); other[1] == first[1] || other[1].Offerings[0].Price != 8 {
		t.Errorf("a pool that an overlay tells apart got %v", other[1])
	}
	first[0] = nil // a caller's own list
	if again := ask(p); again[0] == nil {
		t.Error("a caller can change the answer")
	}
	p.Types = []*cloud.InstanceType{instanceType("small")}
	p.Types[0].Offerings[0].Price = 100
	if fresh := ask(p); len(fresh) != 1 || fresh[0].Offerings[0].Price != 7 {
		t.Errorf("a new list got %v", fresh[0])
	}
}

// TestNewPricesOfTheCloudAreCorrectedToo checks that corrections apply to the current list of the cloud, not to that when they were
// evaluated.
func TestNewPricesOfTheCloudAreCorrectedToo(t *testing.T) {
	p := pool("p", nil, instanceType("small"))
	corrections, _ := overlay.Evaluate(overlays(named("o", adjust("+10%"))), []overlay.Pool{p}, v1.CoreLabelRules())
	later := instanceType("newcomer")
	later.Offerings[0].Price = 20
	if got := corrections.Apply("p", []*cloud.InstanceType{later})[0].Offerings[0].Price; got != 22 {
		t.Errorf("price %v, want 22", got)
	}
}

// TestEverythingElseIsKept fills every field of a type and an offering, including future ones.
func TestEverythingElseIsKept(t *testing.T) {
	t.Attr("covers", "L371 N248")
	full := instanceType("small")
	fill(t, reflect.ValueOf(full).Elem())
	fill(t, reflect.ValueOf(&full.Offerings[0]).Elem())
	o := evaluate(t, overlays(named("o", price("7"), capacity("example.com/gpu", "1"))), pool("p", nil, full))
	got := o.types("p")[0]
	want := *full
	want.Capacity = resources("cpu", "4", "example.com/disk", "1", "example.com/gpu", "1")
	want.CapacityOverlaid = true
	want.Offerings = append([]cloud.Offering{}, full.Offerings...)
	for i := range want.Offerings {
		want.Offerings[i].Price, want.Offerings[i].PriceOverlaid = 7, true
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if gpu := got.CapacityOf(&got.Offerings[0])["example.com/gpu"]; gpu.Cmp(resource.MustParse("1")) != 0 {
		t.Errorf("an offering with overrides has %s of the added resource", gpu.String())
	}
}

// fill sets every exported field of a struct that is zero to another value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() || !f.IsZero() {
			continue
		}
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int32, reflect.Int64:
			f.SetInt(3)
		case reflect.Float64:
			f.SetFloat(3)
		case reflect.String:
			f.SetString("x")
		case reflect.Map:
			if f.Type() == reflect.TypeOf(resources()) {
				f.Set(reflect.ValueOf(resources("example.com/override", "3")))
				continue
			}
			f.Set(reflect.MakeMap(f.Type()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		}
	}
}
