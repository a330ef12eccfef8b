package cloud

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/spelling"
)

// MeantKey returns the well-known label that a user may have meant by a key that is not well known: one of the same name in another domain, if
// the key has a domain of well-known labels, otherwise one that is nearly equal to it. The cost is that of a comparison with every well-known
// label: it is for NodePools, not for pods.
func (c Cloud) MeantKey(key string) (meant string, ok bool) {
	if key = c.Labels.Normalize(key); c.Labels.WellKnown[key] {
		return "", false
	}
	known := slices.Sorted(maps.Keys(c.Labels.WellKnown))
	domain, name, _ := strings.Cut(key, "/")
	if slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, domain+"/") }) {
		if i := slices.IndexFunc(known, func(k string) bool { return strings.HasSuffix(k, "/"+name) }); i >= 0 && name != "" {
			return known[i], true
		}
	}
	return spelling.Suggest(key, known)
}

// UnknownLimits are the resources of a NodePool's limits that none of its instance types has: these limits keep no node from being launched.
// Each comes with a question for the resource that may have been meant, or an empty string.
func UnknownLimits(pool *v1.NodePool, types []*InstanceType) map[string]string {
	known := map[string]bool{string(v1.ResourceNodes): true}
	for _, t := range types {
		for name := range t.Capacity {
			known[string(name)] = true
		}
	}
	unknown := map[string]string{}
	for name := range pool.Spec.Limits {
		if len(types) > 0 && !known[string(name)] {
			unknown[string(name)] = spelling.DidYouMean(string(name), slices.Collect(maps.Keys(known)))
		}
	}
	return unknown
}

// MeantClass returns the node class kind of this cloud, as kind.group, that a user may have meant by a reference to another one: that of the same
// group, or that of the same name in another group. Kinds that only resemble one are those of other clouds.
func (c Cloud) MeantClass(ref *v1.NodeClassReference) (meant string, ok bool) {
	for _, class := range c.NodeClasses {
		if gvk := class.GVK; gvk.Group == ref.Group || strings.EqualFold(gvk.Kind, ref.Kind) {
			return gvk.Kind + "." + gvk.Group, true
		}
	}
	return "", false
}

// ValidatePool checks what the API server cannot about a NodePool, and suggests the labels that may have been meant by restricted ones.
//
// Source: spec API, NodePool runtime validation.
func (c Cloud) ValidatePool(pool *v1.NodePool) error {
	err := pool.RuntimeValidate(c.Labels)
	if err == nil {
		return nil
	}
	for i, r := range pool.Spec.Template.Spec.Requirements {
		if meant, ok := c.MeantKey(r.Key); ok && c.Labels.Restricted(r.Key) {
			err = fmt.Errorf("%w; spec.template.spec.requirements[%d]: did you mean the key %q?", err, i, meant)
		}
	}
	return err
}
