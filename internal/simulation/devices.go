package simulation

import (
	"strings"

	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/internal/core/device"
)

// devices lists what claims get, without their names: claims that are made from a template have a name for each pod.
func devices(list []device.Outcome) string {
	var parts []string
	for _, o := range list {
		for _, g := range o.Grants {
			text := g.Request + "=" + g.Device.String()
			for _, a := range g.Consumed {
				text += " (" + a.Name + " " + Amount(a.Value) + ")"
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

// Amount is thousandths as a Kubernetes quantity.
func Amount(thousandths int64) string {
	format := apiresource.DecimalSI
	if thousandths%(1000<<10) == 0 {
		format = apiresource.BinarySI
	}
	q := apiresource.NewMilliQuantity(thousandths, format)
	if thousandths%1000 == 0 {
		q = apiresource.NewQuantity(thousandths/1000, format)
	}
	return q.String()
}
