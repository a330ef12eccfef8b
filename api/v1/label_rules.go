package v1

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// LabelRules is what is known about labels: which ones scheduling understands, which ones users may not constrain, and
// which ones have a newer name. It is a value: clouds add to a copy and hand it on. Do not change its maps.
//
// Source: spec API, well-known labels; restricted labels and domains; normalised labels.
type LabelRules struct {
	// WellKnown labels may be constrained by pods and pools even when a pool does not define them.
	WellKnown map[string]bool
	// Internal labels are defined by instance types for the use of their provider, such as for matching images. Users may not name them, so
	// each must be restricted.
	Internal map[string]bool
	// RestrictedDomains and their subdomains are closed to labels that are not well known.
	RestrictedDomains []string
	// RestrictedKeys are closed unless well known.
	RestrictedKeys map[string]bool
	// Aliases maps old names to the names in use.
	Aliases map[string]string
	// ValueAliases maps, for a key in use, old values to the values in use.
	ValueAliases map[string]map[string]string
	// KnownValues are the only values that some well-known labels can have.
	KnownValues map[string][]string
}

// CoreLabelRules is what is known without any cloud.
func CoreLabelRules() LabelRules {
	return LabelRules{
		WellKnown: map[string]bool{
			NodePoolLabelKey:               true,
			CapacityTypeLabelKey:           true,
			corev1.LabelTopologyZone:       true,
			corev1.LabelTopologyRegion:     true,
			corev1.LabelInstanceTypeStable: true,
			corev1.LabelArchStable:         true,
			corev1.LabelOSStable:           true,
			corev1.LabelWindowsBuild:       true,
		},
		RestrictedDomains: []string{Group},
		RestrictedKeys:    map[string]bool{corev1.LabelHostname: true},
		Aliases: map[string]string{
			corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
			corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
			"beta.kubernetes.io/arch":           corev1.LabelArchStable,
			"beta.kubernetes.io/os":             corev1.LabelOSStable,
			corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
		},
		ValueAliases: map[string]map[string]string{},
		KnownValues: map[string][]string{
			CapacityTypeLabelKey: {CapacityTypeOnDemand, CapacityTypeSpot, CapacityTypeReserved},
		},
	}
}

// With returns a copy with more well-known labels and more restricted domains.
func (r LabelRules) With(wellKnown []string, domains []string) LabelRules {
	known := make(map[string]bool, len(r.WellKnown)+len(wellKnown))
	maps.Copy(known, r.WellKnown)
	for _, key := range wellKnown {
		known[key] = true
	}
	r.WellKnown = known
	r.RestrictedDomains = slices.Concat(r.RestrictedDomains, domains)
	return r
}

// Normalize returns the name in use for a label.
func (r LabelRules) Normalize(key string) string {
	if current, ok := r.Aliases[key]; ok {
		return current
	}
	return key
}

// NormalizeValue returns the value in use for a value of a label whose name is in use.
func (r LabelRules) NormalizeValue(key, value string) string {
	if current, ok := r.ValueAliases[key][value]; ok {
		return current
	}
	return value
}

// AllowsUndefined reports whether a NodeClaim can have an instance type that defines a label which the NodeClaim does not name.
func (r LabelRules) AllowsUndefined(key string) bool { return r.WellKnown[key] || r.Internal[key] }

// Restricted reports whether users may not constrain a label, whose name must be in use. A key without a slash belongs
// to no domain, and the dot before a subdomain counts: my-karpenter.sh is not under karpenter.sh.
func (r LabelRules) Restricted(key string) bool {
	if r.WellKnown[key] {
		return false
	}
	if domain, _, ok := strings.Cut(key, "/"); ok {
		for _, restricted := range r.RestrictedDomains {
			if domain == restricted || strings.HasSuffix(domain, "."+restricted) {
				return true
			}
		}
	}
	return r.RestrictedKeys[key]
}
