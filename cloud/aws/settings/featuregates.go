package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// FeatureGates switches features of the provider for AWS.
type FeatureGates struct {
	// NodeClassCEL allows expressions in the kubelet block of an EC2NodeClass.
	NodeClassCEL bool
	// DRANVIDIAGPU plans GPUs of instance types as devices of the DRA driver of NVIDIA.
	DRANVIDIAGPU bool
	// DRAEFA plans EFA interfaces of instance types as devices of a DRA driver.
	DRAEFA bool
	// RebootForRepair reboots instances whose GPUs may recover by that.
	RebootForRepair bool
	// Unknown lists names that are no gates of this version, sorted and separated by commas.
	Unknown string
}

// gate ties the name of a gate to its field.
type gate struct {
	name  string
	field *bool
}

// gates lists the fields of g in the order of documentation.
func (g *FeatureGates) gates() []gate {
	return []gate{
		{name: "NodeClassCEL", field: &g.NodeClassCEL},
		{name: "DRANVIDIAGPU", field: &g.DRANVIDIAGPU},
		{name: "DRAEFA", field: &g.DRAEFA},
		{name: "RebootForRepair", field: &g.RebootForRepair},
	}
}

// String renders all gates in the form that ParseFeatureGates reads.
func (g FeatureGates) String() string {
	var parts []string
	for _, e := range g.gates() {
		parts = append(parts, e.name+"="+strconv.FormatBool(*e.field))
	}
	return strings.Join(parts, ",")
}

// withoutEffect returns the names that are no gates of this version.
func (g FeatureGates) withoutEffect() []string {
	if g.Unknown == "" {
		return nil
	}
	return strings.Split(g.Unknown, ",")
}

// Decode implements kong.MapperValue.
func (g *FeatureGates) Decode(ctx *kong.DecodeContext) error {
	return options.DecodeText(ctx, g, ParseFeatureGates)
}

// ParseFeatureGates reads "Name=bool,Name=bool". Gates that are not named keep their default, unknown names are listed in Unknown, and the last
// mention of a gate wins.
func ParseFeatureGates(text string) (FeatureGates, error) {
	var out FeatureGates
	var unknown []string
	known := out.gates()
	for entry := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, value, found := strings.Cut(entry, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || value == "" {
			return FeatureGates{}, fmt.Errorf("feature gate %s has no value; write %s=true or %s=false", name, name, name)
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return FeatureGates{}, fmt.Errorf("feature gate %s has value %q; allowed: true or false", name, value)
		}
		if i := slices.IndexFunc(known, func(e gate) bool { return e.name == name }); i >= 0 {
			*known[i].field = on
		} else {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	out.Unknown = strings.Join(slices.Compact(unknown), ",")
	return out, nil
}
