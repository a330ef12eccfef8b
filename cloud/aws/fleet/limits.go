package fleet

import (
	"cmp"
	"slices"
)

// EC2 limits for one call: the number of templates, and the number of pools of all templates together.
//
// Source: EC2 API reference, CreateFleet; EC2 user guide, quotas of fleets.
const (
	maxConfigs   = 50
	maxOverrides = 300
)

// withinLimits are the ways to launch, each pool once, but for those that are more than EC2 takes: it would refuse them all.
func withinLimits(configs []Config) []Config {
	var out []Config
	for _, c := range configs {
		if c.Overrides = eachPoolOnce(c.Overrides); len(c.Overrides) > 0 {
			out = append(out, c)
		}
	}
	if len(out) > maxConfigs {
		cheapest := func(c Config) float64 { return slices.MinFunc(c.Overrides, byPrice).Price }
		slices.SortStableFunc(out, func(a, b Config) int { return cmp.Compare(cheapest(a), cheapest(b)) })
		out = out[:maxConfigs]
	}
	return spread(out, maxOverrides)
}

// eachPoolOnce leaves out other partitions of the same pool.
func eachPoolOnce(overrides []Override) []Override {
	type pool struct{ instanceType, zone string }
	seen := map[pool]bool{}
	return slices.DeleteFunc(slices.Clone(overrides), func(o Override) bool {
		at := pool{o.InstanceType, o.Zone}
		again := seen[at]
		seen[at] = true
		return again
	})
}

// spread keeps this many overrides: of every type the cheapest zone, then of every type the next one, and so on, so that no type is dropped
// while another one has more zones.
func spread(configs []Config, limit int) []Config {
	type ranked struct {
		Override
		config, rank int
	}
	var all []ranked
	for i, c := range configs {
		zones := map[string]int{}
		for _, o := range slices.SortedStableFunc(slices.Values(c.Overrides), byPrice) {
			all = append(all, ranked{o, i, zones[o.InstanceType]})
			zones[o.InstanceType]++
		}
	}
	if len(all) <= limit {
		return configs
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.rank, b.rank), byPrice(a.Override, b.Override)) })
	out := slices.Clone(configs)
	for i := range out {
		out[i].Overrides = nil
	}
	for _, r := range all[:limit] {
		out[r.config].Overrides = append(out[r.config].Overrides, r.Override)
	}
	return slices.DeleteFunc(out, func(c Config) bool { return len(c.Overrides) == 0 })
}

func byPrice(a, b Override) int { return cmp.Compare(a.Price, b.Price) }
