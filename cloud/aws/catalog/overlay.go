package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// overlayPrices returns hourly prices from NodeOverlays, by instance type: those of valid overlays that select instance types by name and
// nothing else. They are used for types without an AWS price, which otherwise have no offerings.
//
// Source: AWS provider specification, offerings: overlay price.
func (c *Catalog) overlayPrices(ctx context.Context) (map[string]float64, error) {
	if !c.UsesOverlays {
		return nil, nil
	}
	var list v1alpha1.NodeOverlayList
	if err := c.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodeoverlays: %w", err)
	}
	overlays := slices.Clone(list.Items) // the list is the cache's
	slices.SortFunc(overlays, func(a, b v1alpha1.NodeOverlay) int {
		return cmp.Or(cmp.Compare(weight(&b), weight(&a)), strings.Compare(b.Name, a.Name))
	})
	out := map[string]float64{}
	for i := range overlays {
		types, price := overlayPrice(&overlays[i])
		for _, t := range types {
			if _, ok := out[t]; !ok {
				out[t] = price
			}
		}
	}
	return out, nil
}

func weight(o *v1alpha1.NodeOverlay) int32 {
	if o.Spec.Weight == nil {
		return 0
	}
	return *o.Spec.Weight
}

// overlayPrice returns the instance types that an overlay has a price for, if it is valid and selects by instance type alone.
func overlayPrice(o *v1alpha1.NodeOverlay) (types []string, price float64) {
	if o.Spec.Price == nil || len(o.Spec.Requirements) != 1 || condition.Status(o, v1alpha1.ConditionTypeValidationSucceeded) != metav1.ConditionTrue {
		return nil, 0
	}
	only := o.Spec.Requirements[0]
	if awsv1.LabelRules().Normalize(only.Key) != corev1.LabelInstanceTypeStable || only.Operator != corev1.NodeSelectorOpIn {
		return nil, 0
	}
	change, err := o.Spec.PriceChange()
	if err != nil {
		return nil, 0 // it is not in force for long
	}
	return only.Values, change.Apply(0)
}
