package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// devices are the devices that are allocated to claims, one entry for each.
func devices(list []device.Outcome) []Device {
	out := []Device{}
	for _, o := range list {
		for _, g := range o.Grants {
			d := Device{
				Claim: o.Claim, Request: g.Request, Driver: g.Device.Driver, Pool: g.Device.Pool, Device: g.Device.Name,
				Consumed: map[string]string{},
			}
			for _, a := range g.Consumed {
				d.Consumed[a.Name] = simulation.Amount(a.Value)
			}
			out = append(out, d)
		}
	}
	return out
}

// deviceList counts devices by driver.
func deviceList(list []Device) string {
	count := map[string]int{}
	for _, d := range list {
		count[d.Driver]++
	}
	parts := make([]string, 0, len(count))
	for _, driver := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d of %s", count[driver], driver))
	}
	return strings.Join(parts, ", ")
}
