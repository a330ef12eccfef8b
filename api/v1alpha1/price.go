package v1alpha1

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The forms of spec.price and spec.priceAdjustment, as the definition has them.
var (
	priceForm      = regexp.MustCompile(`^\d+(\.\d+)?$`)
	adjustmentForm = regexp.MustCompile(`^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$`)
)

// PriceChange is what an overlay does to prices: times factor, plus delta. The zero value leaves them alone.
//
// +kubebuilder:object:generate=false
type PriceChange struct {
	changes       bool
	factor, delta float64
}

// PriceChange reads price and priceAdjustment. Absent and empty texts change nothing.
//
// Source: spec API, NodeOverlay application rules.
func (s *NodeOverlaySpec) PriceChange() (PriceChange, error) {
	price, adjustment := deref(s.Price), deref(s.PriceAdjustment)
	switch {
	case price != "" && adjustment != "":
		return PriceChange{}, errors.New("spec: 'price' and 'priceAdjustment' exclude each other")
	case price != "":
		amount, err := amountOf("spec.price", price, priceForm)
		return PriceChange{changes: true, delta: amount}, err
	case adjustment == "":
		return PriceChange{}, nil
	}
	amount, err := amountOf("spec.priceAdjustment", adjustment, adjustmentForm)
	if strings.HasSuffix(adjustment, "%") {
		return PriceChange{changes: true, factor: 1 + amount/100}, err
	}
	return PriceChange{changes: true, factor: 1, delta: amount}, err
}

// Changes reports whether there is a change at all. Adding nothing is a change: it keeps overlays of less weight out.
func (c PriceChange) Changes() bool { return c.changes }

// Apply is base after the change, never less than 0 and never infinite: prices travel as JSON.
func (c PriceChange) Apply(base float64) float64 {
	if !c.changes {
		return base
	}
	if c.factor == 0 { // a base that is not a number must not spoil an absolute price
		return max(0, c.delta)
	}
	return min(max(0, base*c.factor+c.delta), math.MaxFloat64)
}

// amountOf is the number in a text of the form, without its percent sign.
func amountOf(field, text string, form *regexp.Regexp) (float64, error) {
	if !form.MatchString(text) {
		return 0, fmt.Errorf("%s: %q is not of the form %s", field, text, form)
	}
	amount, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || math.IsInf(amount, 0) {
		return 0, fmt.Errorf("%s: %q is too large", field, text)
	}
	return amount, nil
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
