package options

import (
	"net/url"
	"strconv"
)

// Cluster is what cloud providers have to know about the cluster whose nodes they launch. Upstream's providers have flags of the same name for
// it, and one binary can declare a flag only once. What is required is up to the provider.
type Cluster struct {
	// Name is the name of the cluster in its cloud; all created resources carry it.
	Name string `name:"cluster-name" envvar:"CLUSTER_NAME" group:"Cloud provider" placeholder:"NAME" help:"Name of the cluster; required, except by kwok."`
	// Endpoint is the absolute URL that nodes reach the API server by; empty means that the provider finds it, if it can.
	Endpoint string `name:"cluster-endpoint" envvar:"CLUSTER_ENDPOINT" group:"Cloud provider" placeholder:"URL" help:"URL of the API server for nodes; default: the endpoint that the cloud reports."`
}

// validate checks what holds for all providers.
func (c Cluster) validate(refuse Refuse) {
	if c.Endpoint == "" {
		return
	}
	if u, err := url.Parse(c.Endpoint); err != nil || !u.IsAbs() || u.Hostname() == "" {
		refuse("cluster-endpoint", "CLUSTER_ENDPOINT", c.Endpoint, "cluster endpoint URL is not valid")
	}
}

// InstanceTypes corrects what clouds say about instance types, for the controller and for simulations.
type InstanceTypes struct {
	// VMMemoryOverheadPercent is the share of an instance's memory that its operating system never sees: at least 0, less than 1.
	VMMemoryOverheadPercent float64 `name:"vm-memory-overhead-percent" envvar:"VM_MEMORY_OVERHEAD_PERCENT" group:"Cloud provider" default:"0.075" help:"Fraction of an instance's memory that the hypervisor takes, from 0 to less than 1; ignored by kwok."`
}

// Validate checks the values.
func (i InstanceTypes) Validate(refuse Refuse) {
	const flag, env = "vm-memory-overhead-percent", "VM_MEMORY_OVERHEAD_PERCENT"
	overhead := i.VMMemoryOverheadPercent
	switch { // conditions that no comparison with NaN meets
	case overhead >= 0 && overhead < 1:
	case overhead >= 1 && overhead < 100:
		share := strconv.FormatFloat(overhead/100, 'g', 6, 64)
		refuse(flag, env, overhead, "must be a fraction from 0 to less than 1: write %s for %v percent", share, overhead)
	case overhead < 0:
		refuse(flag, env, overhead, "%s cannot be negative; it must be a fraction from 0 to less than 1, for example 0.075", flag)
	default:
		refuse(flag, env, overhead, "must be a fraction from 0 to less than 1, for example 0.075")
	}
}
