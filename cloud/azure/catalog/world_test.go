package catalog_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/catalog"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/inventory"
	"github.com/karpenter-anew/karpenter/cloud/azure/price"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
	"github.com/karpenter-anew/karpenter/cloud/azure/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

const location = "southcentralus"

// lister lists SKUs, without a server.
type lister struct{ skus []*armcompute.ResourceSKU }

func (l *lister) NewListPager(*armcompute.ResourceSKUsClientListOptions) *runtime.Pager[armcompute.ResourceSKUsClientListResponse] {
	return runtime.NewPager(runtime.PagingHandler[armcompute.ResourceSKUsClientListResponse]{
		More: func(armcompute.ResourceSKUsClientListResponse) bool { return false },
		Fetcher: func(context.Context, *armcompute.ResourceSKUsClientListResponse) (armcompute.ResourceSKUsClientListResponse, error) {
			return armcompute.ResourceSKUsClientListResponse{ResourceSKUsResult: armcompute.ResourceSKUsResult{Value: l.skus}}, nil
		},
	})
}

// priceList is the price list of the location.
type priceList []price.Item

func (l *priceList) Items(context.Context, string) ([]price.Item, error) { return *l, nil }

// classes are the node classes of a cluster. Reading one that is nil fails.
type classes map[string]*v1beta1.AKSNodeClass

func (c classes) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	class, ok := c[key.Name]
	switch {
	case !ok:
		return apierrors.NewNotFound(schema.GroupResource{Group: v1beta1.Group, Resource: "aksnodeclasses"}, key.Name)
	case class == nil:
		return context.DeadlineExceeded
	}
	class.DeepCopyInto(into.(*v1beta1.AKSNodeClass))
	return nil
}

func (classes) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return context.DeadlineExceeded
}

// world is a catalog with all that it is made of.
type world struct {
	*catalog.Catalog
	lister  *lister
	prices  *priceList
	classes classes
	events  []observe.Event
}

// newWorld has the SKUs of the conformance vectors and the embedded prices; all of it is available.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{lister: &lister{}, prices: &priceList{}, classes: classes{"default": {}}}
	for _, page := range []string{"page1", "page2"} {
		data, err := os.ReadFile("../inventory/testdata/" + page + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var skus []*armcompute.ResourceSKU
		if err := json.Unmarshal(data, &skus); err != nil {
			t.Fatal(err)
		}
		w.lister.skus = append(w.lister.skus, skus...)
	}
	w.Catalog = catalog.New(catalog.Options{
		Settings:  instancetype.Settings{Location: location, NodeResourceGroup: "MC_rg_c_southcentralus", VMMemoryOverheadPercent: 0.075},
		Network:   instancetype.Network{Plugin: instancetype.PluginAzure, Mode: instancetype.ModeOverlay},
		Inventory: inventory.New(location, w.lister, w.prices), UnavailableOfferings: unavailableofferings.New(clock.RealClock{}), Quota: quota.New(clock.RealClock{}),
		Client: w.classes, Clock: clock.RealClock{}, Publish: func(e observe.Event) { w.events = append(w.events, e) },
	})
	if err := w.Inventory.RefreshSKUs(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// types lists the instance types of a class.
func (w *world) types(t *testing.T, class *v1beta1.AKSNodeClass) []*cloud.InstanceType {
	t.Helper()
	types, err := w.Types(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// named finds an instance type by the end of its name, such as D2s_v3; nil if there is none.
func named(types []*cloud.InstanceType, name string) *cloud.InstanceType {
	at := slices.IndexFunc(types, func(t *cloud.InstanceType) bool { return t.Name == "Standard_"+name })
	if at < 0 {
		return nil
	}
	return types[at]
}

// available are the zones of the available offerings of an instance type, by the first letters of the capacity type, such as "od 0 1 2 3 sp 0 1".
func available(it *cloud.InstanceType) string {
	if it == nil {
		return "not listed"
	}
	var out []string
	for short, capacityType := range map[string]string{"od": v1.CapacityTypeOnDemand, "sp": v1.CapacityTypeSpot} {
		var zones []string
		for i := range it.Offerings {
			if o := &it.Offerings[i]; o.Available && o.CapacityType() == capacityType {
				zones = append(zones, strings.TrimPrefix(o.Zone(), location+"-"))
			}
		}
		slices.Sort(zones)
		if len(zones) > 0 {
			out = append(out, short+" "+strings.Join(zones, " "))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// offered is the price of an instance type with a capacity type, or -1.
func offered(it *cloud.InstanceType, capacityType string) float64 {
	if it != nil {
		for i := range it.Offerings {
			if it.Offerings[i].CapacityType() == capacityType {
				return it.Offerings[i].Price
			}
		}
	}
	return -1
}
